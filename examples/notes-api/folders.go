package main

import (
	"sort"
	"strings"
)

// nameWeight is how much a folder whose name answers the whole question gains.
const nameWeight = 0.5

// contentWeights are how much a folder's best chunks count, best first.
var contentWeights = []float64{1, 0.3, 0.15}

// scoredFolder is a folder with how well it fits the question.
type scoredFolder struct {
	key   string
	score float64
}

// selectFolders returns the folders to search. The ones the request names come
// first, then the best `count` others by name and content. When nothing matches
// at all, every folder is searched. hits must be sorted, best first.
func selectFolders(available, hints []string, question []weightedTerm, hits []Hit, count int) []string {
	selected := []string{}
	taken := map[string]bool{}
	for _, folder := range available {
		if matchesHint(folder, hints) {
			selected = append(selected, folder)
			taken[folder] = true
		}
	}
	for _, f := range rankFolders(available, question, hits) {
		if count == 0 {
			break
		}
		if !taken[f.key] && f.score > 0 {
			selected = append(selected, f.key)
			count--
		}
	}
	if len(selected) == 0 {
		return available
	}
	return selected
}

func rankFolders(available []string, question []weightedTerm, hits []Hit) []scoredFolder {
	content := map[string]float64{}
	used := map[string]int{}
	for _, h := range hits {
		if n := used[h.Chunk.FolderKey]; n < len(contentWeights) {
			content[h.Chunk.FolderKey] += float64(contentWeights[n] * h.Final)
			used[h.Chunk.FolderKey]++
		}
	}
	ranked := make([]scoredFolder, len(available))
	for i, folder := range available {
		ranked[i] = scoredFolder{folder, content[folder] + float64(nameWeight*nameScore(folder, question))}
	}
	sort.Slice(ranked, func(i, j int) bool {
		if ranked[i].score != ranked[j].score {
			return ranked[i].score > ranked[j].score
		}
		return ranked[i].key < ranked[j].key
	})
	return ranked
}

// nameScore is the share of the question that stands in the folder's own name.
// The vault's name and the parents' names do not count.
func nameScore(folder string, question []weightedTerm) float64 {
	name := folder[strings.LastIndex(folder, "/")+1:]
	inName := map[string]bool{}
	for _, t := range terms(name) {
		inName[t] = true
	}
	found, total := 0.0, 0.0
	for _, q := range question {
		total += q.idf
		if inName[q.term] {
			found += q.idf
		}
	}
	if total == 0 {
		return 0
	}
	return found / total
}

// matchesHint accepts "vault/folder", "<vault id>/folder" and "folder", and
// either of hint and folder may be a parent of the other.
func matchesHint(folder string, hints []string) bool {
	vault, inVault, _ := strings.Cut(folder, "/")
	id := map[string]string{"personal": "1", "work": "2"}[vault]
	for _, hint := range hints {
		hint = strings.Trim(strings.TrimSpace(hint), "/")
		if hint == "" {
			continue
		}
		for _, name := range []string{folder, id + "/" + inVault, inVault} {
			if name != "" && (coversFolder(name, hint) || coversFolder(hint, strings.TrimSuffix(name, "/"))) {
				return true
			}
		}
	}
	return false
}
