package main

import (
	"regexp"
	"strings"
)

var (
	htmlVerbatim = regexp.MustCompile(`(?i)^<(?:script|pre|style|textarea)(?:[ >]|$)`)
	htmlElement  = regexp.MustCompile(`(?i)^</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h1|h2|h3|h4|h5|h6|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:[ >]|/>|$)`)
	htmlTag      = regexp.MustCompile(`^<(?:/[A-Za-z][A-Za-z0-9-]*\s*|[A-Za-z][A-Za-z0-9-]*(?:\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>` + "`" + `]+|'[^']*'|"[^"]*"))?)*\s*/?)>`)
	htmlDeclare  = regexp.MustCompile(`^<![A-Za-z]`)
)

// openHTML says whether an HTML block starts on this line (CommonMark's seven
// kinds). A "# line" inside one is not a heading.
func openHTML(s string, inParagraph bool) *htmlBlock {
	if s[0] != '<' {
		return nil
	}
	switch {
	case htmlVerbatim.MatchString(s):
		return &htmlBlock{until: []string{"</script>", "</pre>", "</style>", "</textarea>"}}
	case strings.HasPrefix(s, "<!--"):
		return &htmlBlock{until: []string{"-->"}}
	case strings.HasPrefix(s, "<?"):
		return &htmlBlock{until: []string{"?>"}}
	case strings.HasPrefix(s, "<![CDATA["):
		return &htmlBlock{until: []string{"]]>"}}
	case htmlDeclare.MatchString(s):
		return &htmlBlock{until: []string{">"}}
	case htmlElement.MatchString(s):
		return &htmlBlock{}
	}
	tag := htmlTag.FindString(s)
	if tag != "" && !inParagraph && isBlank(s[len(tag):]) {
		return &htmlBlock{}
	}
	return nil
}

// endsIn says whether the block ends with this very line.
func (h *htmlBlock) endsIn(line string) bool {
	lower := strings.ToLower(line)
	for _, end := range h.until {
		if strings.Contains(lower, strings.ToLower(end)) {
			return true
		}
	}
	return false
}
