package main

import (
	"math"
	"sort"
)

// TokenStats describes the sizes of the indexed chunks in estimated tokens.
type TokenStats struct {
	Min  int     `json:"min"`
	Max  int     `json:"max"`
	Mean float64 `json:"mean"`
	P95  int     `json:"p95"`
}

// Coverage says how much of the vaults is in the index.
type Coverage struct {
	DocsProcessed   int            `json:"docs_processed"`
	DocsWith0Chunks int            `json:"docs_with_0_chunks"`
	ChunksAttempted int            `json:"chunks_attempted"`
	ChunksEmbedded  int            `json:"chunks_embedded"`
	ChunksSkipped   int            `json:"chunks_skipped"`
	SkippedReasons  map[string]int `json:"chunks_skipped_reasons,omitempty"`
	TokenStats      *TokenStats    `json:"chunk_token_stats,omitempty"`
	ChunkerVersion  string         `json:"chunker_version"`
	IndexVersion    string         `json:"index_version"`
}

func (ix *Index) measure(version string) Coverage {
	c := Coverage{DocsProcessed: len(ix.notes), ChunkerVersion: chunkerVersion, IndexVersion: version}
	for _, n := range ix.notes { // sums of integers: the order has no effect
		if len(n.chunks) == 0 {
			c.DocsWith0Chunks++
		}
		c.ChunksAttempted += n.produced
	}
	c.ChunksEmbedded = len(ix.chunks)
	c.ChunksSkipped = c.ChunksAttempted - c.ChunksEmbedded
	if c.ChunksSkipped > 0 {
		c.SkippedReasons = map[string]int{"duplicate_in_note": c.ChunksSkipped}
	}
	c.TokenStats = tokenStats(ix.chunks)
	return c
}

func tokenStats(chunks []*Chunk) *TokenStats {
	if len(chunks) == 0 {
		return nil
	}
	sizes := make([]int, len(chunks))
	total := 0
	for i, c := range chunks {
		sizes[i] = tokenCount(c.Text)
		total += sizes[i]
	}
	sort.Ints(sizes)
	p95 := min(len(sizes)-1, int(math.Ceil(0.95*float64(len(sizes)))))
	mean := math.Round(100*float64(total)/float64(len(sizes))) / 100
	return &TokenStats{Min: sizes[0], Max: sizes[len(sizes)-1], Mean: mean, P95: sizes[p95]}
}
