package main

import (
	"regexp"
	"sort"
	"strings"
	"unicode"
)

// abstention is the answer when nothing relevant was found.
const abstention = "I couldn't find any relevant information in your notes to answer this question."

// Reference is a chunk that an answer cites.
type Reference struct {
	Vault       string `json:"vault"`
	RelPath     string `json:"rel_path"`
	HeadingPath string `json:"heading_path"`
	ChunkIndex  int    `json:"chunk_index"`
}

// sentence is a candidate for the answer. hit and place say where it stands.
type sentence struct {
	text  string
	hit   int
	place int
	score float64
}

// composeAnswer picks the sentences of the context that match the question best
// and cites the chunks they come from. It invents nothing: every sentence stands
// in a note. context must not be empty.
func composeAnswer(context []Hit, question []weightedTerm, detail string) (string, []Reference) {
	var all []sentence
	for i, h := range context {
		for place, text := range sentences(h.Chunk) {
			score := h.Final * (0.2 + overlap(text, question))
			all = append(all, sentence{text, i, place, score})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].score > all[j].score })
	limit := map[string]int{"brief": 1, "detailed": 5}[detail]
	if limit == 0 {
		limit = 3
	}
	best := all[:min(limit, len(all))]
	sort.SliceStable(best, func(i, j int) bool {
		return best[i].hit < best[j].hit || (best[i].hit == best[j].hit && best[i].place < best[j].place)
	})
	var answer, citations []string
	references := []Reference{}
	for i, s := range best {
		answer = append(answer, s.text)
		if i == 0 || best[i-1].hit != s.hit {
			c := context[s.hit].Chunk
			references = append(references, Reference{c.Vault, c.RelPath, c.HeadingPath, c.Position})
			citations = append(citations, "[File: "+c.RelPath+", Section: "+c.HeadingPath+"]")
		}
	}
	return strings.Join(answer, " ") + "\n\nCitations:\n" + strings.Join(citations, "\n"), references
}

// overlap is the share of the question's weight that a sentence contains.
func overlap(text string, question []weightedTerm) float64 {
	present := distinct(terms(text))
	found, total := 0.0, 0.0
	for _, q := range question {
		total += q.idf
		if present[q.term] {
			found += q.idf
		}
	}
	if total == 0 {
		return 0
	}
	return found / total
}

var (
	blockStart   = regexp.MustCompile(`^\s*(?:[-+*]\s|\d+[.)]\s|\||>|` + "```" + `|~~~)`)
	blockMarkers = regexp.MustCompile(`^\s*(?:(?:[-+*]|\d+[.)]|>)\s+)*(?:\[[ xX]\]\s+)?`)
)

// sentences splits a chunk into sentences, list items and table rows, without
// the heading line. A chunk that is nothing but a heading is one sentence.
func sentences(c *Chunk) []string {
	heading, content, found := strings.Cut(c.Text, "\n")
	if !found {
		return []string{heading}
	}
	var list []string
	var open []string
	flush := func() {
		list = append(list, splitSentences(strings.Join(open, " "))...)
		open = nil
	}
	for _, line := range strings.Split(content, "\n") {
		trimmed := strings.TrimSpace(line)
		fence := strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")
		if trimmed == "" || fence || blockStart.MatchString(line) {
			flush()
		}
		if text := strings.TrimSpace(blockMarkers.ReplaceAllString(line, "")); !fence && hasWord(text) {
			open = append(open, text)
		}
	}
	flush()
	if len(list) == 0 {
		return []string{heading}
	}
	return list
}

// splitSentences cuts after ".", "!" and "?" before white space.
func splitSentences(text string) []string {
	var list []string
	runes := []rune(text)
	start := 0
	for i := 1; i <= len(runes); i++ {
		if i < len(runes) && !sentenceEnd(runes, i) {
			continue
		}
		if s := strings.TrimSpace(string(runes[start:i])); s != "" {
			list = append(list, s)
		}
		start = i
	}
	return list
}

func hasWord(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0
}
