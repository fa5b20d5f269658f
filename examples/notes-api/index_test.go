package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestCoverage(t *testing.T) {
	c := testConfig(t, map[string]string{
		"personal/A.md":     "# A\n\n12345678\n\n## X\n\nsame\n\n## X\n\nsame\n", // runes: 10, 6 (twice)
		"personal/Blank.md": "\n\n",
		"personal/Empty.md": "",
		"work/B.md":         "# B\n",
	})
	got := testIndex(t, c).coverage
	want := Coverage{
		DocsProcessed: 3, DocsWith0Chunks: 1, ChunksAttempted: 4, ChunksEmbedded: 3, ChunksSkipped: 1,
		SkippedReasons: map[string]int{"duplicate_in_note": 1},
		TokenStats:     &TokenStats{Min: 1, Max: 3, Mean: 2, P95: 3},
		ChunkerVersion: "v2.0", IndexVersion: indexVersion(c),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v %+v, want %+v", got, got.TokenStats, want)
	}
	empty := testIndex(t, testConfig(t, nil)).coverage
	if empty.TokenStats != nil || empty.SkippedReasons != nil || empty.DocsProcessed != 0 {
		t.Errorf("got %+v", empty)
	}
}

func TestIndexVersionFollowsTheIndexSettings(t *testing.T) {
	base := Config{ChunkMax: 700}
	other := base
	other.ChunkMax = 300
	dropped := base
	dropped.DropFolders = []string{"work/A"}
	ranked := base
	ranked.Ranking.MinScore = 0.9
	if v := indexVersion(base); len(v) != 16 || v == indexVersion(other) || v == indexVersion(dropped) || v != indexVersion(ranked) {
		t.Errorf("versions are %s %s %s %s", v, indexVersion(other), indexVersion(dropped), indexVersion(ranked))
	}
}

func TestDroppedFoldersAreNotIndexed(t *testing.T) {
	c := testConfig(t, library)
	c.DropFolders = []string{"work/Runbooks"}
	ix := testIndex(t, c)
	if want := []string{"work/Runbooks-Old", "work/Travel"}; !reflect.DeepEqual(ix.folders["work"], want) {
		t.Errorf("got %q", ix.folders["work"])
	}
	if ix.coverage.DocsProcessed != len(library)-1 {
		t.Errorf("%d documents", ix.coverage.DocsProcessed)
	}
}

// TestNextPass covers what a later pass must notice, and what it may reuse.
func TestNextPass(t *testing.T) {
	c := testConfig(t, library)
	first := testIndex(t, c)
	root := c.Vaults[0].Root
	if err := os.Remove(filepath.Join(root, "Home.md")); err != nil {
		t.Fatal(err)
	}
	write(t, root, map[string]string{"Recipes/Chili.md": "# Hotter chili\n\nThree ancho peppers.\n"})
	second, err := buildIndex(c, first, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if second.noteAt("personal/Home.md") != nil || first.noteAt("personal/Home.md") == nil {
		t.Error("the deleted note is still there, or the old snapshot changed")
	}
	if hits := ask(second, "ancho peppers", c.Ranking).Hits; len(hits) == 0 || hits[0].Chunk.HeadingPath != "# Hotter chili" {
		t.Errorf("got %+v", hits)
	}
	if key := "personal/Software/Backups.md"; second.noteAt(key) != first.noteAt(key) {
		t.Error("an unchanged note was chunked again")
	}
	forced := testIndex(t, c)
	if !reflect.DeepEqual(ids(forced), ids(second)) {
		t.Error("a forced pass gives other chunks")
	}
}

func ids(ix *Index) []string {
	var list []string
	for _, c := range ix.chunks {
		list = append(list, c.ID)
	}
	return list
}

func TestUnreadableNotesAreCountedNotFatal(t *testing.T) {
	c := testConfig(t, library)
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	if err := os.Chmod(filepath.Join(c.Vaults[0].Root, "Home.md"), 0); err != nil {
		t.Fatal(err)
	}
	ix, err := buildIndex(c, nil, quiet)
	if err == nil || ix == nil || ix.coverage.DocsWith0Chunks != 1 || ix.coverage.DocsProcessed != len(library) {
		t.Errorf("got %v, %+v", err, ix)
	}
}

// TestFailedPassKeepsTheOldIndex removes a vault: questions are still answered,
// health is not well, and a pass after the repair heals it.
func TestFailedPassKeepsTheOldIndex(t *testing.T) {
	c := testConfig(t, library)
	x := NewIndexer(c, quiet)
	pass := func() {
		t.Helper()
		if !x.Start(true) {
			t.Fatal("a pass is running")
		}
		waitIdle(t, x)
	}
	pass()
	root := c.Vaults[1].Root
	if err := os.Rename(root, root+".gone"); err != nil {
		t.Fatal(err)
	}
	before := x.Index()
	pass()
	if x.Healthy() || x.Index() != before {
		t.Error("a failed pass went unnoticed or dropped the index")
	}
	if err := os.Rename(root+".gone", root); err != nil {
		t.Fatal(err)
	}
	pass()
	if !x.Healthy() {
		t.Error("still unhealthy after a good pass")
	}
}

func waitIdle(t *testing.T, x *Indexer) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); x.Running(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("indexing does not end")
		}
	}
}
