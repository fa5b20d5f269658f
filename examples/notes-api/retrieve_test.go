package main

import (
	"io"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// library is a small pair of vaults; keys are "vault/rel_path".
var library = map[string]string{
	"personal/Software/Backups.md":   "# Backups\n\nThe laptop is copied to the cellar disk every night.\n\n## Restore drill\n\nEach March ten random photos are restored to a blank machine.\n",
	"personal/Recipes/Chili.md":      "# Weeknight chili\n\n## Ingredients\n\n- 500 g minced beef\n- one tin of kidney beans\n\n## Method\n\nBrown the beef. Simmer for forty minutes.\n",
	"personal/Home.md":               "# Home\n\nThe boiler is serviced in October.\n",
	"work/Runbooks/Database/Fail.md": "# Failover\n\nPromote the replica, then restart the billing daemon.\n",
	"work/Runbooks-Old/Fail.md":      "# Failover of 2019\n\nPromote the replica by hand.\n",
	"work/Travel/Trains.md":          "# Trains\n\nSecond class below four hours.\n",
}

// testConfig writes files and returns a config over them with a low threshold:
// in a collection this small every word is common.
func testConfig(t *testing.T, files map[string]string) Config {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, files)
	write(t, root, map[string]string{"personal/.obsidian/x": "", "work/.obsidian/x": ""})
	return Config{
		ChunkMax: 700,
		Vaults:   []Vault{{1, "personal", filepath.Join(root, "personal")}, {2, "work", filepath.Join(root, "work")}},
		Ranking:  Ranking{VectorWeight: 0.5, LexicalWeight: 0.5, MinScore: 0.1, Folders: true, FolderCount: 6},
	}
}

func testIndex(t *testing.T, c Config) *Index {
	t.Helper()
	ix, err := buildIndex(c, nil, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

func ask(ix *Index, question string, ranking Ranking) *Retrieval {
	return ix.retrieve(Query{Question: question, Mode: "hybrid"}, ranking)
}

func TestTheRightSectionComesFirst(t *testing.T) {
	c := testConfig(t, library)
	ix := testIndex(t, c)
	tests := map[string]string{
		"How many photos are restored in the drill?":   "# Backups > ## Restore drill",
		"How much minced beef goes into the chili?":    "# Weeknight chili > ## Ingredients",
		"When is the boiler serviced?":                 "# Home",
		"What is restarted after promoting a replica?": "# Failover",
	}
	for question, want := range tests {
		hits := ask(ix, question, c.Ranking).Hits
		if len(hits) == 0 || hits[0].Chunk.HeadingPath != want {
			t.Errorf("%s: got %+v", question, hits)
		}
	}
}

func TestScoresAreBoundedAndOrdered(t *testing.T) {
	c := testConfig(t, library)
	for _, mode := range []string{"lexical", "vector", "hybrid"} {
		hits := testIndex(t, c).retrieve(Query{Question: "restore the replica of the beef disk", Mode: mode}, c.Ranking).Hits
		if len(hits) < 3 {
			t.Fatalf("%s: %d hits", mode, len(hits))
		}
		for i, h := range hits {
			if h.Vector < 0 || h.Vector > 1 || h.Lexical < 0 || h.Lexical >= 1 || h.Final <= 0 || h.Final > 1 {
				t.Errorf("%s: scores out of range: %+v", mode, h)
			}
			if (mode == "lexical" && h.Vector != 0) || (mode == "vector" && h.Lexical != 0) {
				t.Errorf("%s: the other ranker has a score: %+v", mode, h)
			}
			if i > 0 && (hits[i-1].Final < h.Final || (hits[i-1].Final == h.Final && hits[i-1].Chunk.ID >= h.Chunk.ID)) {
				t.Errorf("%s: out of order at %d", mode, i)
			}
		}
	}
}

func TestWeights(t *testing.T) {
	both := Ranking{VectorWeight: 3, LexicalWeight: 1}
	noVector, nothing := both, both
	noVector.NoVector = true
	nothing.NoVector, nothing.NoLexical = true, true
	tests := []struct {
		ranking         Ranking
		mode            string
		vector, lexical float64
	}{
		{both, "hybrid", 0.75, 0.25}, {both, "vector", 1, 0}, {both, "lexical", 0, 1},
		{noVector, "hybrid", 0, 1}, {noVector, "vector", 0, 0}, {noVector, "lexical", 0, 1},
		{nothing, "hybrid", 0, 0},
	}
	for _, tt := range tests {
		if v, l := tt.ranking.weights(tt.mode); v != tt.vector || l != tt.lexical {
			t.Errorf("%s: got %g, %g, want %g, %g", tt.mode, v, l, tt.vector, tt.lexical)
		}
	}
}

func TestDisabledRankersFindNothing(t *testing.T) {
	c := testConfig(t, library)
	c.Ranking.NoVector, c.Ranking.NoLexical = true, true
	if got := ask(testIndex(t, c), "minced beef", c.Ranking); len(got.Hits) != 0 || got.Passing != 0 {
		t.Errorf("got %+v", got.Hits)
	}
}

func TestOffTopicQuestionsDoNotPass(t *testing.T) {
	c := testConfig(t, library)
	if got := ask(testIndex(t, c), "What is the capital of Mongolia?", c.Ranking); got.Passing != 0 {
		t.Errorf("%d pass: %+v", got.Passing, got.Hits[0])
	}
}

func TestK(t *testing.T) {
	long := strings.Repeat("alpha ", 40)
	tests := []struct {
		name      string
		requested int
		question  string
		detail    string
		folders   bool
		want      int
	}{
		{"below the least", 1, "x", "", false, 3},
		{"as asked", 5, "x", "", false, 5},
		{"above the most", 20, "x", "", false, 8},
		{"far above", 1000, "x", "", false, 8},
		{"negative is automatic", -4, "red green blue black white", "", false, 5},
		{"five words", 0, "red green blue black white", "", false, 5},
		{"four words", 0, "red green blue black", "", false, 4},
		{"only stop words", 0, "what is the", "", false, 5},
		{"brief", 0, "red green blue black", "brief", false, 3},
		{"detailed", 0, "red green blue black white", "detailed", false, 8},
		{"unknown detail", 0, "red green blue black white", "huge", false, 5},
		{"broad, as a substring", 0, "red green blue black white call", "", false, 6},
		{"two question marks", 0, "red? green? blue black white", "", false, 6},
		{"ten distinct words", 0, "b1 b2 b3 b4 b5 b6 b7 b8 b9 b10", "", false, 6},
		{"long", 0, long, "", false, 7},
		{"folders", 0, "red green blue black white", "", true, 4},
		{"folders and broad", 0, "red green blue black white list", "", true, 6},
	}
	for _, tt := range tests {
		if got := chooseK(tt.requested, tt.question, tt.detail, tt.folders); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestListAndContextSizes(t *testing.T) {
	r := &Retrieval{Hits: make([]Hit, 30), K: 8, Passing: 30}
	if len(r.listed()) != 16 || len(r.context()) != 8 {
		t.Errorf("got %d and %d", len(r.listed()), len(r.context()))
	}
	r = &Retrieval{Hits: make([]Hit, 5), K: 3, Passing: 1}
	if len(r.listed()) != 5 || len(r.context()) != 1 {
		t.Errorf("got %d and %d", len(r.listed()), len(r.context()))
	}
}

func TestFoldersCoverByPathElements(t *testing.T) {
	tests := []struct {
		selected, folder string
		want             bool
	}{
		{"work/Docs", "work/Docs", true}, {"work/Docs", "work/Docs/API", true},
		{"work/Docs", "work/Docs-Archive", false}, {"work/Docs/API", "work/Docs", false},
		{"work/", "work/", true}, {"work/", "work/Docs", false},
	}
	for _, tt := range tests {
		if got := coversFolder(tt.selected, tt.folder); got != tt.want {
			t.Errorf("%s covers %s: got %v", tt.selected, tt.folder, got)
		}
	}
}

func TestHints(t *testing.T) {
	tests := []struct {
		folder, hint string
		want         bool
	}{
		{"personal/Software/Go", "Software/Go", true}, {"personal/Software/Go", "personal/Software/Go/", true},
		{"personal/Software/Go", "1/Software", true}, {"personal/Software/Go", "2/Software", false},
		{"personal/Software", "Software/Go", true}, {"personal/Software/Go", "Soft", false},
		{"personal/", "personal", true}, {"personal/", "Software", false}, {"personal/Software", "", false},
	}
	for _, tt := range tests {
		if got := matchesHint(tt.folder, []string{tt.hint}); got != tt.want {
			t.Errorf("%q for %s: got %v", tt.hint, tt.folder, got)
		}
	}
}

func TestFolderSelection(t *testing.T) {
	c := testConfig(t, library)
	c.Ranking.FolderCount = 1
	ix := testIndex(t, c)
	got := ask(ix, "minced beef and kidney beans", c.Ranking)
	available := []string{"personal/", "personal/Recipes", "personal/Software", "work/Runbooks", "work/Runbooks-Old", "work/Runbooks/Database", "work/Travel"}
	if !reflect.DeepEqual(got.Available, available) || !reflect.DeepEqual(got.Selected, []string{"personal/Recipes"}) {
		t.Errorf("got %q of %q", got.Selected, got.Available)
	}
	for _, h := range got.Hits {
		if h.Chunk.FolderKey != "personal/Recipes" {
			t.Errorf("a hit from %s", h.Chunk.FolderKey)
		}
	}
	hinted := ix.retrieve(Query{Question: "minced beef", Folders: []string{"Travel"}, Vaults: []string{"work", "personal"}, Mode: "hybrid"}, c.Ranking)
	if want := []string{"work/Travel", "personal/Recipes"}; !reflect.DeepEqual(hinted.Selected, want) {
		t.Errorf("got %q, want %q", hinted.Selected, want)
	}
	oneVault := ix.retrieve(Query{Question: "promote the replica", Vaults: []string{"personal"}, Mode: "hybrid"}, c.Ranking)
	if !reflect.DeepEqual(oneVault.Available, available[:3]) {
		t.Errorf("got %q", oneVault.Available)
	}
	nothing := ask(ix, "zzz", c.Ranking)
	if !reflect.DeepEqual(nothing.Selected, available) {
		t.Errorf("got %q", nothing.Selected)
	}
	c.Ranking.Folders = false
	if off := ask(ix, "minced beef", c.Ranking); !reflect.DeepEqual(off.Selected, available) {
		t.Errorf("got %q", off.Selected)
	}
}

func TestStem(t *testing.T) {
	pairs := [][2]string{{"backups", "backup"}, {"restored", "restoring"}, {"restores", "restore"}, {"running", "runs"}, {"policies", "policy"}, {"calling", "calls"}}
	for _, p := range pairs {
		if stem(p[0]) != stem(p[1]) {
			t.Errorf("%s -> %s, %s -> %s", p[0], stem(p[0]), p[1], stem(p[1]))
		}
	}
	for _, w := range []string{"status", "class", "is", "größe", "v2"} {
		if stem(w) != w {
			t.Errorf("%s -> %s", w, stem(w))
		}
	}
}

func TestAnswerQuotesTheNotes(t *testing.T) {
	c := testConfig(t, library)
	got := ask(testIndex(t, c), "How long does the chili simmer?", c.Ranking)
	answer, references := composeAnswer(got.context(), got.Terms, "brief")
	want := "Simmer for forty minutes.\n\nCitations:\n[File: Recipes/Chili.md, Section: # Weeknight chili > ## Method]"
	if answer != want {
		t.Errorf("got %q", answer)
	}
	if wantRefs := []Reference{{"personal", "Recipes/Chili.md", "# Weeknight chili > ## Method", 2}}; !reflect.DeepEqual(references, wantRefs) {
		t.Errorf("got %+v", references)
	}
}

func TestSentences(t *testing.T) {
	tests := map[string][]string{
		"Only a heading": {"Only a heading"},
		"H\nOne. Two\nwraps on.\n\n- item a\n- [ ] item b\n\n```\ncode here\n```\n| a | b |\n|---|---|": {"One.", "Two wraps on.", "item a", "item b", "code here", "| a | b |"},
		"H\n---": {"H"},
	}
	for text, want := range tests {
		if got := sentences(&Chunk{Text: text}); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestNoiseOverlooksChunks(t *testing.T) {
	c := testConfig(t, library)
	ix := testIndex(t, c)
	found := func(noise, start float64, seed uint64) int {
		different := map[string]bool{}
		ranking := c.Ranking
		ranking.Noise, ranking.StartNoise, ranking.StartSeed = noise, start, seed
		for i := 0; i < 40; i++ {
			ids := ""
			for _, h := range ask(ix, "the replica, the boiler, the beef, the disk", ranking).Hits {
				ids += h.Chunk.ID
			}
			different[ids] = true
		}
		return len(different)
	}
	if quiet, calls, start := found(0, 0, 0), found(1, 0, 0), found(0, 1, 1); quiet != 1 || calls < 3 || start != 1 {
		t.Errorf("got %d lists without noise, %d of each call, %d of one start", quiet, calls, start)
	}
	ranking, starts := c.Ranking, map[int]bool{}
	ranking.StartNoise = 1
	for ranking.StartSeed = 1; ranking.StartSeed < 20; ranking.StartSeed++ {
		starts[len(ask(ix, "the replica, the boiler, the beef, the disk", ranking).Hits)] = true
	}
	if len(starts) < 2 {
		t.Error("all starts overlook equally many chunks")
	}
}

func TestEachStartDrawsASeed(t *testing.T) {
	seeds := map[uint64]bool{}
	for i := 0; i < 3; i++ {
		c, err := LoadConfig(environment(t, "NOTES_START_NOISE", "3"))
		if err != nil || c.Ranking.StartNoise != 0.03 {
			t.Fatal(c.Ranking, err)
		}
		seeds[c.Ranking.StartSeed] = true
	}
	if len(seeds) != 3 {
		t.Errorf("%d seeds of 3 starts", len(seeds))
	}
}
