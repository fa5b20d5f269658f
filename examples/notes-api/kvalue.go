package main

import "strings"

const (
	requestMaxK = 20 // a request may ask for this many
	minK        = 3
	maxK        = 8 // also the most chunks an answer is made from
	maxListed   = 50
)

// broadWords anywhere in the question ask for more context. They are matched as
// substrings, as in helloworld ("call" contains "all").
var broadWords = []string{
	"overview", "summary", "summaries", "all", "everything", "compare", "comparison",
	"list", "recap", "broad", "topics", "outline",
}

// chooseK returns how many chunks to use: what was asked for within [3, 8], or a
// number that fits the question when requested is 0.
func chooseK(requested int, question, detail string, hasFolders bool) int {
	requested = clamp(requested, 0, requestMaxK)
	if requested > 0 {
		return clamp(requested, minK, maxK)
	}
	k := map[string]int{"brief": 3, "detailed": 8}[detail]
	if k == 0 {
		k = 5
	}
	meaningful := contentWords(question)
	switch n := len(meaningful); {
	case n >= 12 || len(distinct(meaningful)) >= 10:
		k++
	case n >= 1 && n <= 4:
		k--
	}
	broad := isBroad(question)
	if broad {
		k++
	}
	if strings.Count(question, "?") > 1 {
		k++
	}
	if len(question) > 200 {
		k++
	}
	if hasFolders && !broad {
		k--
	}
	return clamp(k, minK, maxK)
}

func isBroad(question string) bool {
	lower := strings.ToLower(question)
	for _, w := range broadWords {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

func distinct(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

func clamp(n, low, high int) int { return max(low, min(n, high)) }
