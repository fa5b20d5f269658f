package main

import "math"

const (
	bm25K1       = 1.2
	bm25B        = 0.75
	headingBoost = 2.0  // how much more a term counts in the heading path
	evidence     = 20.0 // the BM25 sum that scores one half
)

// lexicalModel holds what BM25 needs to know about all chunks.
type lexicalModel struct {
	documents     int
	averageLength float64
	frequency     map[string]int
}

func (m *lexicalModel) idf(term string) float64 {
	n := float64(m.frequency[term])
	return math.Log(1 + float64(float64(m.documents)-n+0.5)/float64(n+0.5))
}

// weightedTerm is a distinct term of a question with its idf.
type weightedTerm struct {
	term string
	idf  float64
}

// weigh returns the distinct terms of a question in order of appearance.
func (m *lexicalModel) weigh(question []string) []weightedTerm {
	seen := map[string]bool{}
	var list []weightedTerm
	for _, t := range question {
		if !seen[t] {
			seen[t] = true
			list = append(list, weightedTerm{t, m.idf(t)})
		}
	}
	return list
}

// score is BM25 squeezed into [0, 1) by s/(s+evidence). It does not depend on the
// other candidates, so one threshold fits all questions: several matching words
// are strong evidence, one commonplace word is not.
func (m *lexicalModel) score(question []weightedTerm, counts map[string]float64, length float64) float64 {
	sum := 0.0
	for _, q := range question {
		tf := counts[q.term]
		if tf == 0 {
			continue
		}
		norm := float64(bm25K1 * (1 - bm25B + float64(bm25B*length)/m.averageLength))
		sum += float64(q.idf*tf*(bm25K1+1)) / (tf + norm)
	}
	return sum / (sum + evidence)
}
