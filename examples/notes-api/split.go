package main

import (
	"strings"
	"unicode"
)

// splitText cuts text into parts of at most limit runes, none of them blank.
// Nothing but white space is lost. It cuts at the last paragraph end that fits,
// else line end, else sentence end, else word end, else between two runes.
func splitText(text string, limit int) []string {
	var parts []string
	rest := []rune(text)
	for len(rest) > 0 {
		n := cutPoint(rest, limit)
		if part := strings.TrimRightFunc(string(rest[:n]), unicode.IsSpace); part != "" {
			parts = append(parts, part)
		}
		rest = skipBreak(rest[n:])
	}
	return parts
}

// cutPoint is the length of the next part, between 1 and limit. The first three
// kinds of boundary count only beyond a quarter of the limit: a short first
// paragraph is no reason for a tiny part.
func cutPoint(r []rune, limit int) int {
	if len(r) <= limit {
		return len(r)
	}
	least := max(1, limit/4)
	if n := lastBoundary(r, least, limit, func(i int) bool { return r[i] == '\n' && i+1 < len(r) && r[i+1] == '\n' }); n > 0 {
		return n
	}
	if n := lastBoundary(r, least, limit, func(i int) bool { return r[i] == '\n' }); n > 0 {
		return n
	}
	if n := lastBoundary(r, least, limit, func(i int) bool { return sentenceEnd(r, i) }); n > 0 {
		return n
	}
	if n := lastBoundary(r, 1, limit, func(i int) bool { return unicode.IsSpace(r[i]) }); n > 0 {
		return n
	}
	if unicode.IsSpace(r[0]) { // indentation gives way before a word is cut
		return 1
	}
	return limit
}

// lastBoundary is the largest i in [least, limit] that is a boundary, or 0.
func lastBoundary(r []rune, least, limit int, boundary func(int) bool) int {
	for i := limit; i >= least; i-- {
		if boundary(i) {
			return i
		}
	}
	return 0
}

// sentenceEnd says whether a sentence ends just before position i.
func sentenceEnd(r []rune, i int) bool {
	switch r[i-1] {
	case '.', '!', '?':
		return unicode.IsSpace(r[i])
	case '。', '！', '？':
		return true
	}
	return false
}

// skipBreak drops the white space at a cut, but keeps the indentation of the
// line that follows.
func skipBreak(r []rune) []rune {
	n := 0
	keepFrom := -1
	for n < len(r) && unicode.IsSpace(r[n]) {
		if r[n] == '\n' {
			keepFrom = n + 1
		}
		n++
	}
	if keepFrom >= 0 && n < len(r) {
		return r[keepFrom:]
	}
	return r[n:]
}
