package main

import (
	"regexp"
	"strings"
)

// section is one heading with the source lines below it, up to the next heading.
// The text before the first heading is a section of level 0.
type section struct {
	level   int
	heading string
	body    []string
}

// container is an open block quote (width 0) or list item (width > 0, the
// number of columns its content is indented by).
type container struct {
	width      int
	blankStart bool
}

// maxDepth bounds how deep containers nest: a line of a million ">" is text.
const maxDepth = 64

// htmlBlock is an open HTML block. It ends with the line that holds one of
// `until`, or with a blank line when `until` is empty.
type htmlBlock struct {
	until []string
	depth int
}

// blockParser splits a note into sections, one line at a time. It follows
// CommonMark's block structure as far as it decides what is a heading and what
// is not: containers, fences, HTML blocks, indented code, setext underlines.
type blockParser struct {
	sections   []section
	containers []container
	fence      *codeFence
	html       *htmlBlock
	para       []string // open paragraph, without container prefixes
	paraStart  int      // where its lines begin in the current body
	defs       map[string]bool
}

var (
	thematicBreak = regexp.MustCompile(`^(?:(?:\*[ ]*){3,}|(?:-[ ]*){3,}|(?:_[ ]*){3,})$`)
	setextLine    = regexp.MustCompile(`^(?:=+|-+)[ ]*$`)
	listMarker    = regexp.MustCompile(`^(?:[-+*]|([0-9]{1,9})[.)])(?:[ ]|$)`)
	linkDef       = regexp.MustCompile(`^\[((?:[^\[\]\\\n]|\\.)+)\]: *\n? *` + linkTarget + `(?:(?: +| *\n *)(?:"[^"]*"|'[^']*'|\([^()]*\)))? *\n`)
)

// parseSections returns the sections of a note in source order, and the labels
// of its link reference definitions. Heading texts are still raw Markdown.
func parseSections(lines []string) ([]section, map[string]bool) {
	p := &blockParser{sections: []section{{}}, defs: map[string]bool{}}
	for _, line := range lines {
		p.addLine(line)
	}
	p.closeParagraph()
	return p.sections, p.defs
}

func (p *blockParser) body() *[]string { return &p.sections[len(p.sections)-1].body }

func (p *blockParser) keep(raw string) {
	*p.body() = append(*p.body(), raw)
}

func (p *blockParser) addLine(raw string) {
	matched, rest := p.matchContainers(expandTabs(raw))
	if p.insideVerbatim(raw, matched, rest) {
		return
	}
	unmatched := matched < len(p.containers)
	if p.isSetext(rest, unmatched) {
		p.setextHeading(strings.Contains(rest, "="))
		return
	}
	opened, rest := p.openContainers(matched, rest)
	if isBlank(rest) {
		p.closeParagraph()
		if !opened {
			p.containers = p.containers[:matched]
		}
		p.keep(raw)
		return
	}
	p.addLeaf(raw, rest, matched, opened)
}

// matchContainers says how many of the open containers this line continues, and
// what is left of the line inside them.
func (p *blockParser) matchContainers(rest string) (int, string) {
	for i := range p.containers {
		c := &p.containers[i]
		indent := indentOf(rest)
		switch {
		case c.width == 0:
			if indent > 3 || indent == len(rest) || rest[indent] != '>' {
				return i, rest
			}
			rest = strings.TrimPrefix(rest[indent+1:], " ")
		case isBlank(rest):
			if c.blankStart {
				return i, rest
			}
			rest = ""
		case indent >= c.width:
			rest = rest[c.width:]
		default:
			return i, rest
		}
		c.blankStart = false
	}
	return len(p.containers), rest
}

// insideVerbatim takes the line when an open fence or HTML block owns it.
func (p *blockParser) insideVerbatim(raw string, matched int, rest string) bool {
	if p.fence != nil {
		if matched < p.fence.depth {
			p.fence = nil
			return false
		}
		if p.fence.closedBy(rest) {
			p.fence = nil
		}
		p.keep(raw)
		return true
	}
	if p.html != nil {
		if matched < p.html.depth || (len(p.html.until) == 0 && isBlank(rest)) {
			p.html = nil
			return false
		}
		if p.html.endsIn(rest) {
			p.html = nil
		}
		p.keep(raw)
		return true
	}
	return false
}

// openContainers opens the block quotes and list items that start on this line.
func (p *blockParser) openContainers(matched int, rest string) (bool, string) {
	opened := false
	for {
		indent := indentOf(rest)
		if indent > 3 || indent == len(rest) || len(p.containers) >= maxDepth {
			return opened, rest
		}
		s := rest[indent:]
		interrupts := !opened && p.para != nil && matched == len(p.containers)
		if s[0] == '>' {
			p.push(container{}, matched, &opened)
			rest = strings.TrimPrefix(s[1:], " ")
			continue
		}
		marker := listMarker.FindStringSubmatch(s)
		if marker == nil || thematicBreak.MatchString(s) {
			return opened, rest
		}
		width := len(strings.TrimRight(marker[0], " "))
		content := s[width:]
		if interrupts && (isBlank(content) || (marker[1] != "" && strings.TrimLeft(marker[1], "0") != "1")) {
			return opened, rest
		}
		pad := indentOf(content)
		if isBlank(content) || pad > 4 {
			pad = 1
		}
		p.push(container{width: indent + width + pad, blankStart: isBlank(content)}, matched, &opened)
		rest = content[min(pad, len(content)):]
	}
}

func (p *blockParser) push(c container, matched int, opened *bool) {
	if !*opened {
		p.closeParagraph()
		p.containers = p.containers[:matched]
		*opened = true
	}
	p.containers = append(p.containers, c)
}

// addLeaf handles a line that is not blank and opens no further container.
func (p *blockParser) addLeaf(raw, rest string, matched int, opened bool) {
	indent := indentOf(rest)
	s := rest[indent:]
	inParagraph := p.para != nil && !opened
	if indent > 3 {
		if !inParagraph {
			p.closeUnmatched(matched, opened)
			p.keep(raw)
			return
		}
		p.paragraphLine(raw, s)
		return
	}
	if level, text, ok := atxHeading(s); ok {
		p.closeUnmatched(matched, opened)
		p.sections = append(p.sections, section{level: level, heading: text})
		return
	}
	if fence := openFence(s); fence != nil {
		p.closeUnmatched(matched, opened)
		fence.depth = len(p.containers)
		p.fence = fence
		p.keep(raw)
		return
	}
	if html := openHTML(s, inParagraph); html != nil {
		p.closeUnmatched(matched, opened)
		html.depth = len(p.containers)
		if !html.endsIn(s) {
			p.html = html
		}
		p.keep(raw)
		return
	}
	if thematicBreak.MatchString(s) {
		p.closeUnmatched(matched, opened)
		p.keep(raw)
		return
	}
	if !inParagraph {
		p.closeUnmatched(matched, opened)
	}
	p.paragraphLine(raw, s)
}

func (p *blockParser) closeUnmatched(matched int, opened bool) {
	p.closeParagraph()
	if !opened {
		p.containers = p.containers[:matched]
	}
}

func (p *blockParser) paragraphLine(raw, text string) {
	if p.para == nil {
		p.paraStart = len(*p.body())
	}
	p.para = append(p.para, text)
	p.keep(raw)
}

// takeDefinitions drops the link reference definitions a paragraph starts with,
// remembers their labels and says how many lines they were.
func (p *blockParser) takeDefinitions() int {
	if len(p.para) == 0 || p.para[0][0] != '[' {
		return 0
	}
	text := strings.Join(p.para, "\n") + "\n"
	taken := 0
	for m := linkDef.FindStringSubmatch(text); m != nil; m = linkDef.FindStringSubmatch(text) {
		p.defs[linkLabel(m[1])] = true
		taken += strings.Count(m[0], "\n")
		text = text[len(m[0]):]
	}
	p.para = p.para[taken:]
	return taken
}

func (p *blockParser) closeParagraph() {
	p.takeDefinitions()
	p.para = nil
}

// isSetext says whether the line turns the open paragraph into a heading. A
// paragraph of link definitions alone is no paragraph, so nothing to underline.
func (p *blockParser) isSetext(rest string, unmatched bool) bool {
	indent := indentOf(rest)
	if p.para == nil || unmatched || indent > 3 || !setextLine.MatchString(rest[indent:]) {
		return false
	}
	p.paraStart += p.takeDefinitions()
	if len(p.para) == 0 {
		p.para = nil
	}
	return p.para != nil
}

// setextHeading moves the open paragraph out of the body into a heading.
func (p *blockParser) setextHeading(first bool) {
	level := 2
	if first {
		level = 1
	}
	body := p.body()
	*body = (*body)[:p.paraStart]
	p.sections = append(p.sections, section{level: level, heading: strings.Join(p.para, "\n")})
	p.para = nil
}
