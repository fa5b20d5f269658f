package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"sort"
	"strings"
	"unicode/utf8"
)

// Chunk is an indexed piece of a note, never changed once made.
type Chunk struct {
	ID          string
	Vault       string
	RelPath     string
	FolderKey   string
	HeadingPath string
	Text        string
	Position    int // within its note

	counts   map[string]float64 // term -> weighted occurrences
	length   float64
	features []feature
}

// note is an indexed note. produced counts its pieces before identical ones were
// dropped.
type note struct {
	hash     [sha256.Size]byte
	folder   string
	chunks   []*Chunk
	produced int
}

// Index is a complete, immutable snapshot that questions are asked of.
type Index struct {
	chunks   []*Chunk
	vectors  [][]float64 // of chunks, by position
	notes    map[string]*note
	folders  map[string][]string // vault -> its folders and their parents
	lexical  lexicalModel
	vector   vectorModel
	coverage Coverage
}

// buildIndex reads both vaults. Notes that have not changed since `old` keep
// their chunks; old may be nil. Notes that cannot be read are in the index
// without chunks and in the error; without a readable vault root there is no index.
func buildIndex(c Config, old *Index, log *slog.Logger) (*Index, error) {
	ix := &Index{notes: map[string]*note{}, folders: map[string][]string{}}
	var problems []error
	var order []string
	for _, v := range c.Vaults {
		files, err := scanVault(v, c.DropFolders)
		if err != nil {
			if info, statErr := os.Stat(v.Root); statErr != nil || !info.IsDir() {
				return nil, fmt.Errorf("vault %s: %w", v.Name, err)
			}
			problems = append(problems, err)
		}
		log.Info("starting indexing", "vault", v.Name, "total_files", len(files))
		for _, f := range files {
			key := folderKey(v.Name, f.relPath)
			n, err := readNote(f, old.noteAt(key), c.ChunkMax)
			if err != nil {
				log.Error("failed to index file", "vault", v.Name, "rel_path", f.relPath, "error", err.Error())
				problems = append(problems, err)
			}
			if n != nil {
				ix.notes[key] = n
				order = append(order, key)
			}
		}
		ix.folders[v.Name] = vaultFolders(v.Name, files, ix.notes)
	}
	for _, key := range order {
		ix.chunks = append(ix.chunks, ix.notes[key].chunks...)
	}
	ix.train()
	ix.coverage = ix.measure(indexVersion(c))
	return ix, errors.Join(problems...)
}

// noteAt is the note this index knows under key, nil if none. ix may be nil.
func (ix *Index) noteAt(key string) *note {
	if ix == nil {
		return nil
	}
	return ix.notes[key]
}

// readNote reads and chunks one note. An empty file is no note (nil, nil).
func readNote(f noteFile, known *note, chunkMax int) (*note, error) {
	data, err := os.ReadFile(f.file)
	if err != nil {
		return &note{folder: f.folder}, err
	}
	if len(data) == 0 {
		return nil, nil
	}
	hash := sha256.Sum256(data)
	if known != nil && known.hash == hash && known.folder == f.folder {
		return known, nil
	}
	pieces := chunkMarkdown(f.relPath, string(data), chunkMax)
	n := &note{hash: hash, folder: f.folder, produced: len(pieces)}
	seen := map[piece]bool{}
	for _, p := range pieces {
		if !seen[p] {
			seen[p] = true
			n.chunks = append(n.chunks, newChunk(f, p, len(n.chunks)))
		}
	}
	return n, nil
}

func newChunk(f noteFile, p piece, position int) *Chunk {
	c := &Chunk{
		ID:          chunkID(f.vault.ID, f.relPath, p.headingPath, p.text),
		Vault:       f.vault.Name,
		RelPath:     f.relPath,
		FolderKey:   folderKey(f.vault.Name, f.folder),
		HeadingPath: p.headingPath,
		Text:        p.text,
		Position:    position,
		counts:      map[string]float64{},
		features:    features(p.headingPath + "\n" + p.text),
	}
	count := func(text string, weight float64) {
		for _, t := range terms(text) {
			c.counts[t] += weight
			c.length += weight
		}
	}
	count(p.text, 1)
	count(p.headingPath, headingBoost)
	return c
}

// train computes what both rankers must know about the whole collection.
func (ix *Index) train() {
	ix.lexical = lexicalModel{documents: len(ix.chunks), averageLength: 1, frequency: map[string]int{}}
	ix.vector = vectorModel{documents: len(ix.chunks), frequency: map[uint64]int{}}
	total := 0.0
	for _, c := range ix.chunks {
		total += c.length
		for t := range c.counts { // only counts: the order has no effect
			ix.lexical.frequency[t]++
		}
		for _, f := range c.features {
			ix.vector.frequency[f.hash]++
		}
	}
	if total > 0 {
		ix.lexical.averageLength = total / float64(len(ix.chunks))
	}
	ix.vectors = make([][]float64, len(ix.chunks))
	for i, c := range ix.chunks {
		ix.vectors[i] = ix.vector.embed(c.features)
	}
}

// vaultFolders lists the folders that hold notes, and all their parents.
func vaultFolders(vault string, files []noteFile, notes map[string]*note) []string {
	set := map[string]bool{}
	for _, f := range files {
		if notes[folderKey(vault, f.relPath)] == nil {
			continue
		}
		set[folderKey(vault, f.folder)] = true
		for dir := path.Dir(f.folder); dir != "." && dir != "/"; dir = path.Dir(dir) {
			set[folderKey(vault, dir)] = true
		}
	}
	list := make([]string, 0, len(set))
	for folder := range set {
		list = append(list, folder)
	}
	sort.Strings(list)
	return list
}

// indexVersion changes with every setting that changes what is in the index. It
// says nothing about the notes.
func indexVersion(c Config) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s|maxChunkSize=%d|vectorSize=%d|grams=%d-%d|headingBoost=%g|drop=%s",
		chunkerVersion, c.ChunkMax, vectorSize, gramMin, gramMax, headingBoost, strings.Join(c.DropFolders, ","))))
	return hex.EncodeToString(sum[:])[:16]
}

// tokenCount estimates the tokens of a text as a quarter of its runes, at least one.
func tokenCount(text string) int { return max(1, (utf8.RuneCountInString(text)+2)/4) }
