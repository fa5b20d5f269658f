package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand"
	"sort"
	"time"
)

// Query is a question with everything that limits where and how it is looked up.
type Query struct {
	Question string
	Vaults   []string // empty: all
	Folders  []string
	K        int
	Detail   string
	Mode     string // "lexical", "vector" or "hybrid"
}

// Hit is a chunk with its scores, rounded to six decimals.
type Hit struct {
	Chunk   *Chunk
	Vector  float64
	Lexical float64
	Final   float64
}

// Retrieval is the outcome of a search. Hits are sorted best first and include
// those below the threshold.
type Retrieval struct {
	Hits       []Hit
	Passing    int
	K          int
	Selected   []string
	Available  []string
	Terms      []weightedTerm
	FolderTime time.Duration
	SearchTime time.Duration
}

// context is what an answer is made from.
func (r *Retrieval) context() []Hit { return r.Hits[:min(r.K, maxK, r.Passing)] }

// listed is what debug shows.
func (r *Retrieval) listed() []Hit { return r.Hits[:min(2*r.K, maxListed, len(r.Hits))] }

// retrieve scores all chunks of the asked vaults, then drops those outside the
// selected folders.
func (ix *Index) retrieve(q Query, ranking Ranking) *Retrieval {
	start := time.Now()
	r := &Retrieval{
		K:         chooseK(q.K, q.Question, q.Detail, len(q.Folders) > 0),
		Terms:     ix.lexical.weigh(terms(q.Question)),
		Available: []string{},
	}
	vaults := distinct(q.Vaults)
	for _, vault := range vaultNames {
		if len(vaults) == 0 || vaults[vault] {
			r.Available = append(r.Available, ix.folders[vault]...)
		}
	}
	hits := ranking.overlook(ix.rank(q, r.Terms, vaults, ranking), q.Question)
	folderStart := time.Now()
	r.Selected = r.Available
	if ranking.Folders {
		r.Selected = selectFolders(r.Available, q.Folders, r.Terms, hits, ranking.FolderCount)
	}
	r.FolderTime = time.Since(folderStart)
	r.Hits = insideFolders(hits, r.Selected)
	for r.Passing < len(r.Hits) && r.Hits[r.Passing].Final >= ranking.MinScore {
		r.Passing++
	}
	r.SearchTime = time.Since(start) - r.FolderTime
	return r
}

// rank scores every chunk of the vaults (all when empty) and sorts those that
// match at all: by final score, then by chunk id, so that ties have one order.
func (ix *Index) rank(q Query, question []weightedTerm, vaults map[string]bool, ranking Ranking) []Hit {
	wv, wl := ranking.weights(q.Mode)
	embedded := ix.vector.embed(features(q.Question))
	hits := []Hit{}
	for i, c := range ix.chunks {
		if len(vaults) > 0 && !vaults[c.Vault] {
			continue
		}
		h := Hit{Chunk: c}
		if wv > 0 {
			h.Vector = round6(max(0, dot(embedded, ix.vectors[i])))
		}
		if wl > 0 {
			h.Lexical = round6(ix.lexical.score(question, c.counts, c.length))
		}
		h.Final = round6(float64(wv*h.Vector) + float64(wl*h.Lexical))
		if h.Final > 0 {
			hits = append(hits, h)
		}
	}
	sort.Slice(hits, func(i, j int) bool {
		if hits[i].Final != hits[j].Final {
			return hits[i].Final > hits[j].Final
		}
		return hits[i].Chunk.ID < hits[j].Chunk.ID
	})
	return hits
}

// weights are the shares of the two scores in the final one. They add up to 1
// whatever is switched off, so that the threshold means the same in every mode;
// both are 0 when nothing is left to rank with.
func (r Ranking) weights(mode string) (vector, lexical float64) {
	vector, lexical = r.VectorWeight, r.LexicalWeight
	switch mode {
	case "lexical":
		vector, lexical = 0, 1
	case "vector":
		vector, lexical = 1, 0
	}
	if r.NoVector {
		vector = 0
	}
	if r.NoLexical {
		lexical = 0
	}
	if vector+lexical == 0 {
		return 0, 0
	}
	return vector / (vector + lexical), lexical / (vector + lexical)
}

// overlook drops half of the hits, as an approximate index does: for a share of
// the calls, and for a share of the questions that stays the same until the next
// start. Without noise all hits are kept.
func (r Ranking) overlook(hits []Hit, question string) []Hit {
	if rand.Float64() < r.Noise {
		hits = halved(hits, rand.New(rand.NewSource(rand.Int63())))
	}
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%d %s", r.StartSeed, question)
	if lots := rand.New(rand.NewSource(int64(hash.Sum64()))); lots.Float64() < r.StartNoise {
		hits = halved(hits, lots)
	}
	return hits
}

func halved(hits []Hit, lots *rand.Rand) []Hit {
	kept := make([]Hit, 0, len(hits))
	for _, h := range hits {
		if lots.Float64() < 0.5 {
			kept = append(kept, h)
		}
	}
	return kept
}

func insideFolders(hits []Hit, selected []string) []Hit {
	kept := make([]Hit, 0, len(hits))
	for _, h := range hits {
		for _, folder := range selected {
			if coversFolder(folder, h.Chunk.FolderKey) {
				kept = append(kept, h)
				break
			}
		}
	}
	return kept
}

func round6(x float64) float64 { return math.Round(x*1e6) / 1e6 }
