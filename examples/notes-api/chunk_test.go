package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func paths(pieces []piece) []string {
	list := []string{}
	for _, p := range pieces {
		list = append(list, p.headingPath)
	}
	return list
}

func TestHeadingPaths(t *testing.T) {
	tests := []struct {
		name, source string
		want         []string
	}{
		{"nesting", "# A\nx\n## B\ny\n### C\nz\n## D\n", []string{"# A", "# A > ## B", "# A > ## B > ### C", "# A > ## D"}},
		{"skipped level is kept", "# T\n#### Deep\n## Two\n", []string{"# T", "# T > #### Deep", "# T > ## Two"}},
		{"no synthetic root", "## Only\nx\n", []string{"## Only"}},
		{"no heading", "plain text\n", []string{"# my note"}},
		{"preamble takes the first H1", "before\n\n## First\n\n# Later\n", []string{"# Later", "## First", "# Later"}},
		{"front matter", "---\ntitle: No\n# comment\n---\n# Yes\n", []string{"# Yes"}},
		{"front matter ended by dots", "---\ntitle: No\n...\ntext\n", []string{"# my note"}},
		{"opening rule is not front matter", "---\nSome prose.\n\n---\n## H\n", []string{"# my note", "## H"}},
		{"setext", "Top\n===\n\nSub\n---\n", []string{"# Top", "# Top > ## Sub"}},
		{"rule after blank line", "text\n\n---\n", []string{"# my note"}},
		{"fenced", "# A\n```sh\n# no\n```\n~~~\n## no\n```\n~~~\n## B\n", []string{"# A", "# A > ## B"}},
		{"fence in a list ends with it", "- ```\n  # no\n\n## Yes\n", []string{"# my note", "## Yes"}},
		{"unclosed fence", "# A\n```\n# no\n", []string{"# A"}},
		{"indented code", "# A\n\n    # no\n", []string{"# A"}},
		{"comment", "<!--\n# no\n-->\n## Yes\n", []string{"# my note", "## Yes"}},
		{"quote and list", "> # Q\n> text\n\n- ## L\n", []string{"# Q", "# Q > ## L"}},
		{"hash tag and seven hashes", "#tag\n####### no\n", []string{"# my note"}},
		{"closing hashes", "## Two ##\n# One #x\n# C#\n", []string{"## Two", "# One #x", "# C#"}},
		{"delimiter kept", "# A > B\n## C\n", []string{"# A > B", "# A > B > ## C"}},
		{"inline markup", "# 🍎 *a* **b** `c` [d](e \"f\") ![g](h) <b>i</b>\n", []string{"# 🍎 a b c d g i"}},
		{"underscores in words", "# snake_case_name and 2 * 3\n", []string{"# snake_case_name and 2 * 3"}},
		{"escapes and entities", "# R&amp;D \\*x\\*\n", []string{"# R&D *x*"}},
		{"reference link", "# See [docs][d] and [none][x]\n\n[d]: http://e.f\n", []string{"# See docs and [none][x]"}},
		{"wikilink", "# [[Backups]] plan\n", []string{"# [[Backups]] plan"}},
		{"carriage returns and BOM", "\ufeff# A\r\n\r\nx\r\n## B\r\ny\r\n", []string{"# A", "# A > ## B"}},
		{"empty heading without a body", "# A\n##\n", []string{"# A"}},
		{"empty heading with a body", "#\nbody\n", []string{"# "}},
		{"whitespace only", " \n\t\n", []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := paths(chunkMarkdown("dir/my note.md", tt.source, 700))
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestChunkTextKeepsWhatWasWritten(t *testing.T) {
	code := "```go\n\tx := `# no`\n\n    y()\n```"
	pieces := chunkMarkdown("n.md", "# H *e*\n\none\ntwo  \nthree\n\n"+code+"\n\n## Empty\n## Tiny\nok\n", 700)
	want := []piece{
		{"# H e", "H e\none\ntwo\nthree\n\n" + code},
		{"# H e > ## Empty", "Empty"},
		{"# H e > ## Tiny", "Tiny\nok"},
	}
	if !reflect.DeepEqual(pieces, want) {
		t.Errorf("got %q, want %q", pieces, want)
	}
}

func TestInvalidUTF8IsReplaced(t *testing.T) {
	pieces := chunkMarkdown("n.md", "# A\xff\n\nb\x00c\xc3\n", 700)
	want := []piece{{"# A\uFFFD", "A\uFFFD\nb\uFFFDc\uFFFD"}}
	if !reflect.DeepEqual(pieces, want) {
		t.Errorf("got %q, want %q", pieces, want)
	}
}

func TestSplitPrefersTheLargestBoundary(t *testing.T) {
	tests := []struct {
		name, text string
		limit      int
		want       []string
	}{
		{"fits", "a b", 3, []string{"a b"}},
		{"paragraph", "aaaa\nbb\n\ncccc dddd", 12, []string{"aaaa\nbb", "cccc dddd"}},
		{"line", "aaaa bb. cc\ndd ee ff", 14, []string{"aaaa bb. cc", "dd ee ff"}},
		{"sentence", "One two. Three four five.", 15, []string{"One two.", "Three four", "five."}},
		{"word", "alpha beta gamma", 8, []string{"alpha", "beta", "gamma"}},
		{"runes", "가나다라마바사", 3, []string{"가나다", "라마바", "사"}},
		{"short first paragraph is no boundary", "a\n\n" + strings.Repeat("b", 20), 20, []string{"a", strings.Repeat("b", 20)}},
		{"indentation after a cut", "aaaaaaaa\n    code", 9, []string{"aaaaaaaa", "    code"}},
		{"blank", " \n ", 2, nil},
	}
	for _, tt := range tests {
		if got := splitText(tt.text, tt.limit); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestOversizeSectionKeepsItsPath(t *testing.T) {
	// The shape that makes helloworld's own chunker panic.
	source := "# 제목\n\n" + strings.Repeat("가", 450) + "\n\n" + strings.Repeat("나", 260) + "\n"
	pieces := chunkMarkdown("n.md", source, 700)
	if len(pieces) != 2 || pieces[0].headingPath != "# 제목" || pieces[1].headingPath != "# 제목" {
		t.Fatalf("got %q", paths(pieces))
	}
	if want := "제목\n" + strings.Repeat("나", 260); pieces[1].text != want {
		t.Errorf("second piece is %q", pieces[1].text)
	}
}

func TestChunkIDIsTheDocumentedHash(t *testing.T) {
	// sha256("1|Software/A.md|# A|text"), first 32 hex digits.
	if got := chunkID(1, "Software/A.md", "# A", "text"); got != "3d05555c4791fe902daeb073e64daac2" {
		t.Errorf("got %s", got)
	}
	if chunkID(1, "a.md", "# A", "t") == chunkID(2, "a.md", "# A", "t") {
		t.Error("the vault does not count")
	}
}

// FuzzChunk states what must hold for any input at all.
func FuzzChunk(f *testing.F) {
	seeds := []string{
		"", "\ufeff", "# A\n\ntext\n", "---\na: b\n---\nx", "---\n", "A\n=\nB\n-\n", "- - > # x\n\t# y", "```\n# a",
		"# [a](b) *c* _d_ `e` &amp; <f> ![g](h) \\", "# ****a**b*c***", "# [[[[]]]](", "[a]: b\n===\n", "<pre>\n# a\n</pre>",
		"1. a\n2) b\n   # c\n", "가\n\n나다라마바사아자차카타파하", "\xff\xfe#\x00\r\r\n", "# " + strings.Repeat("*a_ ", 50),
		strings.Repeat("word ", 300), "[x]:\n y\n'z'\n===\n",
	}
	for _, s := range seeds {
		f.Add(s, 50)
		f.Add(s, 700)
	}
	f.Fuzz(func(t *testing.T, source string, limit int) {
		limit = 1 + abs(limit)%1000
		checkChunks(t, source, limit)
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}

func checkChunks(t *testing.T, source string, limit int) {
	t.Helper()
	pieces := chunkMarkdown("note.md", source, limit)
	seen := map[string]bool{}
	var joined strings.Builder
	for _, p := range pieces {
		if !utf8.ValidString(p.text) || !utf8.ValidString(p.headingPath) {
			t.Fatalf("invalid UTF-8 in %q", p)
		}
		if strings.TrimSpace(p.text) == "" || p.headingPath == "" {
			t.Fatalf("blank piece %q", p)
		}
		heading, content, _ := strings.Cut(p.text, "\n")
		if n := utf8.RuneCountInString(content); n > limit {
			t.Fatalf("%d runes below the heading %q, at most %d", n, heading, limit)
		}
		seen[p.headingPath] = true
		joined.WriteString(p.text + "\n")
	}
	sections, defs := parseSections(bodyLines(source))
	var stack []section
	for i, s := range sections {
		if i > 0 {
			for len(stack) > 0 && stack[len(stack)-1].level >= s.level {
				stack = stack[:len(stack)-1]
			}
			s.heading = plainText(s.heading, defs)
			stack = append(stack, s)
			if s.heading != "" && !seen[headingPath(stack)] {
				t.Fatalf("no piece for heading %q", headingPath(stack))
			}
		}
		for _, word := range strings.Fields(strings.Join(s.body, "\n")) {
			if utf8.RuneCountInString(word) <= limit && !strings.Contains(joined.String(), word) {
				t.Fatalf("word %q of the body is lost", word)
			}
		}
	}
}

// TestSourceLinesSurvive checks the parser itself: nothing but blank lines,
// front matter and the markup of headings may be missing from the sections.
func TestSourceLinesSurvive(t *testing.T) {
	source := "---\nkey: v\n---\nintro\n# A\n- item\n  > quote\n\n| a | b |\n|---|---|\n| c | d |\n\n<div>\nhtml\n</div>\n\n[d]: e\nSet\next\n---\ntail\n"
	var body []string
	sections, _ := parseSections(bodyLines(source))
	for _, s := range sections {
		body = append(body, s.body...)
	}
	got := strings.Join(body, "\n")
	want := "intro\n- item\n  > quote\n\n| a | b |\n|---|---|\n| c | d |\n\n<div>\nhtml\n</div>\n\n[d]: e\ntail\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHugeInputsTakeLinearTime runs into the test timeout when a construct costs
// more than that.
func TestHugeInputsTakeLinearTime(t *testing.T) {
	for _, unit := range []string{"*a_ ", "[a](b", "`", "<a ", "> ", "- ", "[a]: b\n", "# [\n", "가", "\n", "``` `"} {
		source := "# " + strings.Repeat(unit, 1<<19/len(unit))
		checkNoBlank(t, chunkMarkdown("n.md", source, 700))
		checkNoBlank(t, chunkMarkdown("n.md", source[2:], 700))
	}
}

func checkNoBlank(t *testing.T, pieces []piece) {
	t.Helper()
	for _, p := range pieces {
		if strings.TrimSpace(p.text) == "" {
			t.Fatalf("blank piece below %q", p.headingPath)
		}
	}
}

func TestScanSkipsWhatIsNotANote(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, map[string]string{"secret.md": "x"})
	root := t.TempDir()
	write(t, root, map[string]string{
		"a.md": "x", "Docs/b.md": "x", "Docs-Archive/c.md": "x", "Docs/Deep/d.md": "x",
		".obsidian/e.md": "x", "f.MD": "x", "g.txt": "x", ".trash/h.md": "x",
	})
	for name, target := range map[string]string{
		"out.md": filepath.Join(outside, "secret.md"), "in.md": filepath.Join(root, "a.md"), "dir.md": filepath.Join(root, "Docs"), "dangling.md": "nowhere",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Skip("no symbolic links here")
		}
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	files, err := scanVault(Vault{ID: 2, Name: "work", Root: real}, []string{"work/Docs"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.folder+":"+f.relPath)
	}
	want := []string{".trash:.trash/h.md", "Docs-Archive:Docs-Archive/c.md", ":a.md", ":in.md"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// write creates files below dir, with their directories.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
