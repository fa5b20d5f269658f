package main

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// linkTarget matches where a link leads: <anything>, or a word with balanced
// parentheses (one level).
const linkTarget = `(?:<[^<>\n]*>|(?:\\\S|[^\s\\()<]|\((?:\\\S|[^\s\\()])*\))(?:\\\S|[^\s\\()]|\((?:\\\S|[^\s\\()])*\))*)`

var (
	autolink   = regexp.MustCompile(`^<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*|[\w.!#$%&'*+/=?^{|}~-]+@[A-Za-z0-9.-]+)>`)
	inlineHTML = regexp.MustCompile(`^(?:<!--(?:>|->|[\s\S]*?-->)|<\?[\s\S]*?\?>|<![A-Za-z][^>]*>)`)
	entity     = regexp.MustCompile(`^&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)
	linkTail   = regexp.MustCompile(`^\(\s*(?:` + linkTarget + `)?(?:\s+(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\((?:\\.|[^()\\])*\)))?\s*\)`)
	refTail    = regexp.MustCompile(`^\[((?:[^\[\]\\]|\\.)*)\]`)
)

// maxInline is the longest heading, in bytes, that is read as inline Markdown.
// Finding pairs of marks is quadratic at worst; a longer line is no heading that
// anyone wrote and is taken as it is.
const maxInline = 4096

// inlineNode is a piece of heading text: literal text, or a run of `*` or `_`
// that may still turn out to be emphasis.
type inlineNode struct {
	text               string
	mark               byte
	count, run         int
	canOpen, canClose  bool
	bracket, image, on bool
	source             int // of a bracket: where its text starts
}

// inlineParser removes the inline markup of a heading.
type inlineParser struct {
	src      string
	defs     map[string]bool
	nodes    []inlineNode
	brackets []int
}

// plainText returns a heading's text as a reader sees it: emphasis and code
// marks removed, links and images replaced by their text, escapes and entities
// resolved, white space folded to single spaces.
func plainText(src string, defs map[string]bool) string {
	if len(src) > maxInline {
		return strings.Join(strings.Fields(src), " ")
	}
	p := &inlineParser{src: src, defs: defs}
	for i := 0; i < len(src); {
		i = p.step(i)
	}
	p.resolveEmphasis(0)
	var b strings.Builder
	for _, n := range p.nodes {
		if n.mark != 0 {
			b.WriteString(strings.Repeat(string(n.mark), n.count))
		}
		b.WriteString(n.text)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func (p *inlineParser) text(s string) { p.nodes = append(p.nodes, inlineNode{text: s}) }

// step consumes the construct at i and returns where the next one starts.
func (p *inlineParser) step(i int) int {
	s := p.src[i:]
	switch s[0] {
	case '\\':
		if len(s) > 1 && isASCIIPunct(s[1]) {
			p.text(s[1:2])
			return i + 2
		}
		if strings.HasPrefix(s, "\\\n") { // a hard line break
			return i + 1
		}
	case '`':
		return p.codeSpan(i)
	case '<':
		if m := autolink.FindStringSubmatch(s); m != nil {
			p.text(m[1])
			return i + len(m[0])
		}
		if m := htmlTag.FindString(s) + inlineHTML.FindString(s); m != "" {
			return i + len(m)
		}
	case '&':
		if m := entity.FindString(s); m != "" {
			p.text(html.UnescapeString(m))
			return i + len(m)
		}
	case '*', '_':
		return p.delimiterRun(i)
	case '!':
		if strings.HasPrefix(s, "![") {
			p.openBracket("![", i+2)
			return i + 2
		}
	case '[':
		p.openBracket("[", i+1)
		return i + 1
	case ']':
		return p.closeBracket(i)
	}
	n := strings.IndexAny(s[1:], "\\`<&*_![]") + 1
	if n == 0 {
		n = len(s)
	}
	p.text(s[:n])
	return i + n
}

func (p *inlineParser) openBracket(mark string, source int) {
	p.brackets = append(p.brackets, len(p.nodes))
	p.nodes = append(p.nodes, inlineNode{text: mark, bracket: true, image: mark == "![", on: true, source: source})
}

// codeSpan takes `code`, or the run of backticks literally when nothing closes it.
func (p *inlineParser) codeSpan(i int) int {
	n := len(p.src[i:]) - len(strings.TrimLeft(p.src[i:], "`"))
	for j := i + n; j < len(p.src); {
		start := strings.IndexByte(p.src[j:], '`')
		if start < 0 {
			break
		}
		start += j
		end := start
		for end < len(p.src) && p.src[end] == '`' {
			end++
		}
		if end-start == n {
			p.text(codeText(p.src[i+n : start]))
			return end
		}
		j = end
	}
	p.text(p.src[i : i+n])
	return i + n
}

// codeText drops the one space that may pad a code span at both ends.
func codeText(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if len(s) > 2 && s[0] == ' ' && s[len(s)-1] == ' ' && !isBlank(s) {
		return s[1 : len(s)-1]
	}
	return s
}

// closeBracket turns "[text](target)" and the reference forms into their text.
func (p *inlineParser) closeBracket(i int) int {
	if len(p.brackets) == 0 {
		p.text("]")
		return i + 1
	}
	at := p.brackets[len(p.brackets)-1]
	opener := p.nodes[at]
	p.brackets = p.brackets[:len(p.brackets)-1]
	end := i + 1
	if opener.on {
		end += p.linkTailLength(p.src[opener.source:i], p.src[i+1:])
	}
	if !opener.on || end < i+1 {
		p.text("]")
		return i + 1
	}
	p.resolveEmphasis(at + 1)
	p.nodes[at].text = ""
	if !opener.image {
		for _, b := range p.brackets { // links do not nest
			if !p.nodes[b].image {
				p.nodes[b].on = false
			}
		}
	}
	return end
}

// linkTailLength is the length of what follows a link's closing bracket: the
// target or the reference label, 0 for a shortcut reference, negative when the
// brackets are no link at all.
func (p *inlineParser) linkTailLength(label, rest string) int {
	if m := linkTail.FindString(rest); m != "" {
		return len(m)
	}
	if m := refTail.FindStringSubmatch(rest); m != nil && m[1] != "" {
		if p.defs[linkLabel(m[1])] {
			return len(m[0])
		}
		return -len(rest) - 2
	}
	if p.defs[linkLabel(label)] {
		if strings.HasPrefix(rest, "[]") {
			return 2
		}
		return 0
	}
	return -len(rest) - 2
}

// delimiterRun records a run of `*` or `_` with its flanking (CommonMark 6.2).
func (p *inlineParser) delimiterRun(i int) int {
	mark := p.src[i]
	n := len(p.src[i:]) - len(strings.TrimLeft(p.src[i:], string(mark)))
	before, _ := utf8.DecodeLastRuneInString(p.src[:i])
	after, _ := utf8.DecodeRuneInString(p.src[i+n:])
	spaceBefore, spaceAfter := i == 0 || unicode.IsSpace(before), i+n == len(p.src) || unicode.IsSpace(after)
	punctBefore, punctAfter := isPunct(before), isPunct(after)
	left := !spaceAfter && (!punctAfter || spaceBefore || punctBefore)
	right := !spaceBefore && (!punctBefore || spaceAfter || punctAfter)
	node := inlineNode{mark: mark, count: n, run: n, on: true, canOpen: left, canClose: right}
	if mark == '_' {
		node.canOpen = left && (!right || punctBefore)
		node.canClose = right && (!left || punctAfter)
	}
	p.nodes = append(p.nodes, node)
	return i + n
}

// resolveEmphasis pairs the marks from node `bottom` on; what stays unpaired
// remains literal text.
func (p *inlineParser) resolveEmphasis(bottom int) {
	var openers []int
	for i := bottom; i < len(p.nodes); i++ {
		closer := &p.nodes[i]
		if closer.mark == 0 || !closer.on {
			continue
		}
		for closer.canClose && closer.count > 0 {
			j := p.findOpener(openers, closer)
			if j < 0 {
				break
			}
			opener := &p.nodes[openers[j]]
			used := 1
			if opener.count > 1 && closer.count > 1 {
				used = 2
			}
			opener.count -= used
			closer.count -= used
			openers = openers[:j+1]
			if opener.count == 0 {
				openers = openers[:j]
			}
		}
		if closer.canOpen && closer.count > 0 {
			openers = append(openers, i)
		}
		closer.on = false
	}
}

// findOpener returns the position in openers of the mark that closer closes, or -1.
func (p *inlineParser) findOpener(openers []int, closer *inlineNode) int {
	for j := len(openers) - 1; j >= 0; j-- {
		o := p.nodes[openers[j]]
		if o.mark != closer.mark {
			continue
		}
		odd := (o.canClose || closer.canOpen) && (o.run+closer.run)%3 == 0 && (o.run%3 != 0 || closer.run%3 != 0)
		if !odd {
			return j
		}
	}
	return -1
}

func isASCIIPunct(b byte) bool {
	return b < utf8.RuneSelf && b > ' ' && b != 0x7f && !unicode.IsLetter(rune(b)) && !unicode.IsDigit(rune(b))
}

func isPunct(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
