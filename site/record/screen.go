package main

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// A frame is what a line shows from a time on; at is in seconds.
type frame struct {
	at    float64
	spans []span
}

// A span is text of one style; its class is a class of the SVG.
type span struct{ class, text string }

// A chunk is text that appeared in the terminal, and when.
type chunk struct {
	at   time.Duration
	text string
}

// A screen turns terminal output into lines with frames. It understands programs
// that write lines: text, colors, and carriage return with "erase line".
type screen struct {
	columns int
	lines   [][]frame
	line    []span // the line being written
	color   string
	weight  string
}

const (
	mergeTime = 0.12 // changes of a line within so many seconds are one frame
	slowdown  = 1.8
	maxPause  = 1.6 // a longer pause is shortened to this
	lineTime  = 0.04
)

var control = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[([0-9;?]*)([A-Za-z])|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[\r\n]")
})

func newScreen(columns int, chunks []chunk) *screen {
	s := &screen{columns: columns, lines: [][]frame{nil}}
	at, before, rest := 0.0, time.Duration(0), ""
	for _, c := range chunks {
		at += min((c.at-before).Seconds()*slowdown, maxPause)
		before = c.at
		rest = s.write(rest+c.text, &at)
		s.addFrame(at)
	}
	for len(s.lines) > 0 && empty(s.lines[len(s.lines)-1]) {
		s.lines = s.lines[:len(s.lines)-1]
	}
	return s
}

// write adds text and returns what may be the beginning of a longer sequence.
func (s *screen) write(text string, at *float64) string {
	for text != "" {
		m := control().FindStringSubmatchIndex(text)
		if m == nil {
			end := len(text)
			if i := strings.LastIndexByte(text, 0x1b); i >= 0 {
				end = i
			}
			for end > 0 && !utf8.ValidString(text[:end]) {
				end--
			}
			s.text(text[:end], *at)
			return text[end:]
		}
		s.text(text[:m[0]], *at)
		rest := text[m[1]:]
		switch c := text[m[0]:m[1]]; {
		case c == "\n":
			s.newline(*at)
			*at += lineTime
		case c == "\r":
			if rest == "" {
				return text[m[0]:]
			}
			if strings.HasPrefix(rest, "\x1b[K") {
				s.addFrame(*at)
				s.line = nil
			}
		case m[4] >= 0 && text[m[4]:m[5]] == "m":
			s.style(text[m[2]:m[3]])
		}
		text = rest
	}
	return ""
}

// text adds characters; the terminal wraps at its width.
func (s *screen) text(text string, at float64) {
	width := 0
	for _, p := range s.line {
		width += utf8.RuneCountInString(p.text)
	}
	for text != "" {
		if width == s.columns {
			s.newline(at)
			width = 0
		}
		cut := len(text)
		for i := range text {
			if width == s.columns {
				cut = i
				break
			}
			width++
		}
		s.line = append(s.line, span{strings.TrimSpace(s.color + " " + s.weight), text[:cut]})
		text = text[cut:]
	}
}

func (s *screen) style(codes string) {
	for n := range strings.SplitSeq(codes, ";") {
		switch {
		case n == "" || n == "0":
			s.color, s.weight = "", ""
		case n == "39":
			s.color = ""
		case len(n) == 2 && n[0] == '3':
			s.color = "c" + n[1:]
		case n == "1":
			s.weight = "b"
		case n == "2":
			s.weight = "d"
		}
	}
}

func (s *screen) newline(at float64) {
	s.addFrame(at)
	s.line, s.lines = nil, append(s.lines, nil)
}

// addFrame records what the current line shows now.
func (s *screen) addFrame(at float64) {
	l := &s.lines[len(s.lines)-1]
	n := len(*l)
	switch {
	case n > 0 && at-(*l)[n-1].at < mergeTime:
		(*l)[n-1].spans = slices.Clone(s.line)
	case n == 0 || !slices.Equal((*l)[n-1].spans, s.line):
		*l = append(*l, frame{at, slices.Clone(s.line)})
	}
}

func empty(frames []frame) bool {
	for _, f := range frames {
		for _, p := range f.spans {
			if strings.TrimSpace(p.text) != "" {
				return false
			}
		}
	}
	return true
}
