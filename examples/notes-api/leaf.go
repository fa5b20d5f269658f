package main

import "strings"

// codeFence is an open fenced code block.
type codeFence struct {
	char   byte
	length int
	depth  int
}

// atxHeading reads "## Text ##".
func atxHeading(s string) (int, string, bool) {
	level := 0
	for level < len(s) && s[level] == '#' {
		level++
	}
	if level == 0 || level > 6 || (level < len(s) && s[level] != ' ') {
		return 0, "", false
	}
	text := strings.Trim(s[level:], " ")
	bare := strings.TrimRight(text, "#")
	if bare == "" || strings.HasSuffix(bare, " ") {
		text = strings.TrimRight(bare, " ")
	}
	return level, text, true
}

func openFence(s string) *codeFence {
	if s[0] != '`' && s[0] != '~' {
		return nil
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	if n < 3 || (s[0] == '`' && strings.Contains(s[n:], "`")) {
		return nil
	}
	return &codeFence{char: s[0], length: n}
}

func (f *codeFence) closedBy(rest string) bool {
	indent := indentOf(rest)
	s := strings.TrimRight(rest[indent:], " ")
	return indent <= 3 && len(s) >= f.length && strings.Trim(s, string(f.char)) == ""
}

// expandTabs replaces tabs by spaces up to the next multiple of four columns, so
// that the rest of the parser counts columns in one unit. The chunk text keeps
// the line as it was written.
func expandTabs(line string) string {
	if !strings.Contains(line, "\t") {
		return line
	}
	var b strings.Builder
	column := 0
	for _, r := range line {
		if r != '\t' {
			b.WriteRune(r)
			column++
			continue
		}
		n := 4 - column%4
		b.WriteString("    "[:n])
		column += n
	}
	return b.String()
}

func indentOf(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

func isBlank(s string) bool { return strings.Trim(s, " \t") == "" }

// linkLabel folds a link label the way CommonMark compares them.
func linkLabel(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(s)), " ")
}
