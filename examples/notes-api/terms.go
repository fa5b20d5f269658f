package main

import (
	"strings"
	"unicode"
)

// stopWords carry no meaning of their own in a question about notes.
var stopWords = wordSet(`a about after all am an and any are as at be been before being but by can could
	did do does doing for from get had has have having he her here his how i if in into is it its just
	me my no not of on or our out over she should so some such than that the their them then there these
	they this those to under up us was we were what when where which while who whom whose why will with
	would you your s t d ll m re ve don doesn didn isn`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// words are the runs of letters, marks and digits of a text, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// contentWords are the words of a text that are not stop words.
func contentWords(text string) []string {
	all := words(text)
	kept := all[:0]
	for _, w := range all {
		if !stopWords[w] {
			kept = append(kept, w)
		}
	}
	return kept
}

// terms are the stemmed content words of a text, the unit of lexical matching.
func terms(text string) []string {
	list := contentWords(text)
	for i, w := range list {
		list[i] = stem(w)
	}
	return list
}

// stem strips the commonest English endings. It is meant to let "backups" meet
// "backup" and "restored" meet "restoring", not to be a dictionary. Words that
// are not plain ASCII letters stay as they are.
func stem(w string) string {
	for i := 0; i < len(w); i++ {
		if w[i] < 'a' || w[i] > 'z' {
			return w
		}
	}
	switch {
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		w = w[:len(w)-3] + "y"
	case len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		w = w[:len(w)-1]
	}
	switch {
	case len(w) > 5 && strings.HasSuffix(w, "ing"):
		w = undouble(w[:len(w)-3])
	case len(w) > 4 && strings.HasSuffix(w, "ed"):
		w = undouble(w[:len(w)-2])
	}
	if len(w) > 3 && strings.HasSuffix(w, "e") {
		w = w[:len(w)-1]
	}
	return w
}

// undouble turns "runn" into "run", but leaves "call" and "pass" alone.
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}
