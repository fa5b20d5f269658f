package main

import "math"

const (
	vectorSize = 512
	gramMin    = 3
	gramMax    = 5
)

// feature is a hashed character n-gram with the number of times it occurs.
type feature struct {
	hash  uint64
	count float64
}

// features lists the character 3- to 5-grams of a text's words in order of
// first appearance. The order matters: sums of floats depend on it.
func features(text string) []feature {
	var list []feature
	at := map[uint64]int{}
	add := func(hash uint64) {
		if i, ok := at[hash]; ok {
			list[i].count++
			return
		}
		at[hash] = len(list)
		list = append(list, feature{hash, 1})
	}
	for _, w := range contentWords(text) {
		marked := []rune("^" + w + "$")
		for n := gramMin; n <= gramMax; n++ {
			for i := 0; i+n <= len(marked); i++ {
				add(hashRunes(marked[i : i+n]))
			}
		}
	}
	return list
}

// hashRunes is 64-bit FNV-1a over the runes.
func hashRunes(runes []rune) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for _, r := range runes {
		for shift := 0; shift < 24; shift += 8 {
			h = (h ^ uint64(r>>shift&0xff)) * prime
		}
	}
	return h
}

// vectorModel knows in how many chunks each feature occurs.
type vectorModel struct {
	documents int
	frequency map[uint64]int
}

func (m *vectorModel) idf(hash uint64) float64 {
	return 1 + math.Log(float64(m.documents+1)/float64(m.frequency[hash]+1))
}

// embed hashes features into a vector of length one: the low bits of the hash
// pick the dimension, the top bit the sign. A feature that no chunk has makes the
// vector longer but points nowhere, so that it lowers every similarity instead of
// meeting other features by accident. The explicit float64 conversions forbid
// fused multiply-add, so that every CPU computes the same numbers.
func (m *vectorModel) embed(list []feature) []float64 {
	v := make([]float64, vectorSize)
	unknown := 0.0
	for _, f := range list {
		x := m.idf(f.hash) * (1 + math.Log(f.count))
		switch {
		case m.frequency[f.hash] == 0:
			unknown += float64(x * x)
		case f.hash>>63 == 1:
			v[f.hash%vectorSize] -= float64(x)
		default:
			v[f.hash%vectorSize] += float64(x)
		}
	}
	norm := math.Sqrt(dot(v, v) + unknown)
	if norm == 0 {
		return v
	}
	for i := range v {
		v[i] /= norm
	}
	return v
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x * b[i])
	}
	return sum
}
