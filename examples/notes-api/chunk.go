package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// chunkerVersion names the rules of this file; it is part of index_version.
const chunkerVersion = "v2.0"

// piece is what the chunker makes of a note: one section, or a part of one.
type piece struct {
	headingPath string
	text        string
}

// chunkMarkdown cuts a note into pieces. Every heading keeps a piece of its own,
// however short its section is, so that no anchor is lost; a section longer than
// maxRunes becomes several pieces that share its heading path. Identical pieces
// are not removed here.
func chunkMarkdown(relPath, source string, maxRunes int) []piece {
	sections, defs := parseSections(bodyLines(source))
	for i := range sections {
		sections[i].heading = plainText(sections[i].heading, defs)
	}
	sections[0].level = 1
	sections[0].heading = noteTitle(relPath, sections[1:])
	pieces := sectionPieces(sections[0].heading, "# "+sections[0].heading, sections[0].body, maxRunes, true)
	var stack []section
	for _, s := range sections[1:] {
		for len(stack) > 0 && stack[len(stack)-1].level >= s.level {
			stack = stack[:len(stack)-1]
		}
		stack = append(stack, s)
		pieces = append(pieces, sectionPieces(s.heading, headingPath(stack), s.body, maxRunes, false)...)
	}
	return pieces
}

// headingPath renders "# H1 > ## H2": a skipped level stays skipped.
func headingPath(stack []section) string {
	parts := make([]string, len(stack))
	for i, s := range stack {
		parts[i] = strings.Repeat("#", s.level) + " " + s.heading
	}
	return strings.Join(parts, " > ")
}

// noteTitle is the note's first H1 or, without one, its file name as it is.
func noteTitle(relPath string, sections []section) string {
	for _, s := range sections {
		if s.level == 1 && s.heading != "" {
			return s.heading
		}
	}
	return strings.TrimSuffix(path.Base(relPath), ".md")
}

// sectionPieces makes the pieces of one section. A heading without a body yields
// the heading alone, unless the section is the implied one before the first
// heading, or the heading is empty: then there is nothing to find.
func sectionPieces(heading, headingPath string, body []string, maxRunes int, implied bool) []piece {
	contents := splitText(joinBody(body), maxRunes)
	if len(contents) == 0 {
		if implied || heading == "" {
			return nil
		}
		return []piece{{headingPath, heading}}
	}
	pieces := make([]piece, len(contents))
	for i, content := range contents {
		pieces[i] = piece{headingPath, strings.TrimPrefix(heading+"\n"+content, "\n")}
	}
	return pieces
}

// joinBody drops blank lines at both ends and trailing spaces, nothing else:
// code blocks stay as they were written.
func joinBody(lines []string) string {
	for len(lines) > 0 && isBlank(lines[0]) {
		lines = lines[1:]
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(line, " \t"))
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}

var yamlStart = regexp.MustCompile(`^(?:[\w"'.-][^:]*:(?:\s|$)|#)`)

// bodyLines normalises a note (BOM, line ends, invalid UTF-8, NUL) and returns
// its lines without the YAML front matter.
func bodyLines(source string) []string {
	source = strings.ToValidUTF8(source, "\uFFFD")
	source = strings.TrimPrefix(source, "\uFEFF")
	source = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD").Replace(source)
	lines := strings.Split(source, "\n")
	return lines[frontMatterEnd(lines):]
}

// frontMatterEnd is the number of lines the front matter takes, 0 without one.
// What stands between the rules must begin like YAML, so that a note that opens
// with a thematic break is not swallowed up to the next one.
func frontMatterEnd(lines []string) int {
	if strings.TrimRight(lines[0], " \t") != "---" {
		return 0
	}
	seen := false
	for i, line := range lines[1:] {
		line = strings.TrimRight(line, " \t")
		if line == "---" || line == "..." {
			return i + 2
		}
		if !seen && line != "" {
			if !yamlStart.MatchString(line) {
				return 0
			}
			seen = true
		}
	}
	return 0
}

// chunkID identifies a chunk by where it stands and what it says. It does not
// change when other parts of the note do.
func chunkID(vaultID int, relPath, headingPath, text string) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d|%s|%s|%s", vaultID, relPath, headingPath, text)))
	return hex.EncodeToString(sum[:])[:32]
}
