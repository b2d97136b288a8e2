package markdown

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-dev/holdfast/internal/term"
)

// Style says which colors the terminal has.
type Style uint8

const (
	Plain     Style = iota // no escape sequences: Markdown signs show what is a heading, code or a quote
	ANSI16                 // the 16 colors of the user's palette
	ANSI256                // 256 fixed colors
	TrueColor              // 24-bit colors
)

// Options are the options of [New].
type Options struct {
	Style      Style
	Light      bool // the background is light; ANSI16 needs no such hint
	Hyperlinks bool // the terminal knows OSC 8; otherwise the address follows the text of a link

	colors [roles]string     // codes that are computed already
	refs   map[string]string // the addresses that the message has defined, by label
}

// A role is what a piece of text is. The theme gives it a color.
type role uint8

const (
	roleText role = iota
	roleHeading
	roleCode
	roleLink
	roleDim
	roleKeyword
	roleString
	roleNumber
	roleComment
	roleKey
	roleAdded
	roleRemoved
	roles
)

// theme lists the colors of the roles: as codes for 16 colors, and as RGB for a dark and a light background.
var theme = [roles]struct {
	code        string
	dark, light uint32
}{
	roleHeading: {"36", 0x7dcfff, 0x005f87},
	roleCode:    {"33", 0xe0af68, 0x875f00},
	roleLink:    {"4;34", 0x7aa2f7, 0x005faf},
	roleDim:     {"2", 0x8a8a8a, 0x6c6c6c},
	roleKeyword: {"35", 0xbb9af7, 0x8700af},
	roleString:  {"32", 0x9ece6a, 0x3a6f1a},
	roleNumber:  {"36", 0xff9e64, 0xaf5f00},
	roleComment: {"2", 0x8a8a8a, 0x6c6c6c},
	roleKey:     {"34", 0x7aa2f7, 0x005faf},
	roleAdded:   {"32", 0x9ece6a, 0x3a6f1a},
	roleRemoved: {"31", 0xf7768e, 0xaf0000},
}

// attr is how a piece of text looks.
type attr struct {
	role                 role
	bold, italic, strike bool
	link                 string // a safe address, see safeURL
}

// span is text with one look. Text is safe for the terminal; it contains newlines only where a line must end.
type span struct {
	text string
	attr attr
}

// newSpan escapes text that comes from the model. Every such text passes here.
func newSpan(text string, a attr) span { return span{term.Escape(text), a} }

// sgr returns the codes of a look, without the escape sequence around it.
func (o *Options) sgr(a attr) string {
	if o.Style == Plain {
		return ""
	}
	codes := ""
	if a.bold {
		codes = ";1"
	}
	if a.italic {
		codes += ";3"
	}
	if a.strike {
		codes += ";9"
	}
	switch {
	case a.role == roleText && codes == "":
		return ""
	case a.role == roleText:
		return codes[1:]
	}
	return o.color(a.role) + codes
}

func (o *Options) color(r role) string {
	if o.colors[r] == "" {
		o.colors[r] = o.code(r)
	}
	return o.colors[r]
}

// code computes the code of a color.
func (o *Options) code(r role) string {
	t := theme[r]
	if o.Style == ANSI16 {
		return t.code
	}
	rgb, underline := t.dark, ""
	if o.Light {
		rgb = t.light
	}
	if r == roleLink {
		underline = "4;"
	}
	red, green, blue := rgb>>16, rgb>>8&0xff, rgb&0xff
	if o.Style == TrueColor {
		return fmt.Sprintf("%s38;2;%d;%d;%d", underline, red, green, blue)
	}
	level := func(v uint32) uint32 { return (max(v, 55) - 35) / 40 } // the cube's levels are 0, 95, 135, … 255
	if red == green && green == blue {
		return fmt.Sprintf("%s38;5;%d", underline, 232+(red-8)/10)
	}
	return fmt.Sprintf("%s38;5;%d", underline, 16+36*level(red)+6*level(green)+level(blue))
}

// draw writes one line. The line resets at its end all that it sets, so it can stand between any others.
func (o *Options) draw(line []span) string {
	var b strings.Builder
	look, link := "", ""
	for _, s := range line {
		if s.attr.link != link {
			link = s.attr.link
			b.WriteString(hyperlink(link))
		}
		if sgr := o.sgr(s.attr); sgr != look {
			if look != "" {
				b.WriteString("\x1b[m")
			}
			if sgr != "" {
				b.WriteString("\x1b[" + sgr + "m")
			}
			look = sgr
		}
		b.WriteString(s.text)
	}
	if look != "" {
		b.WriteString("\x1b[m")
	}
	if link != "" {
		b.WriteString(hyperlink(""))
	}
	return b.String()
}

// hyperlink starts a link, or ends it if url is empty. The id joins the parts of a link that is wrapped.
func hyperlink(url string) string {
	if url == "" {
		return ansi.ResetHyperlink()
	}
	h := fnv.New32a()
	h.Write([]byte(url))
	return ansi.SetHyperlink(url, fmt.Sprintf("id=%x", h.Sum32()))
}

// safeURL returns an address that may go into an escape sequence, or "". Only web and mail addresses may,
// because a click on another scheme can start a program.
func safeURL(url string) string {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok || rest == "" || len(url) > 2000 {
		return ""
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto":
	default:
		return ""
	}
	var b strings.Builder
	for _, c := range []byte(url) {
		if c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
