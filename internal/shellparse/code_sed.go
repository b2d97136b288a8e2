package shellparse

import "strings"

// sedCode parses a sed script: the commands e, r, R, w and W, and the flags e and w of s. If it
// cannot parse a part, the script is unclear. It reports whether the script only prints and edits
// its text.
func (c *call) sedCode(w word) (harmless bool) {
	if !w.static {
		c.out.unclear = "cannot determine the sed script"
		return false
	}
	s := sedReader{c: c, code: w.text, harmless: true}
	ok := true
	for ok && s.i < len(s.code) {
		ok = s.command()
	}
	if !ok {
		c.out.unclear = "the sed script cannot be read"
		return false
	}
	return s.harmless
}

type sedReader struct {
	c        *call
	code     string
	i        int
	harmless bool
}

func (s *sedReader) skip(set string) {
	for s.i < len(s.code) && strings.IndexByte(set, s.code[s.i]) >= 0 {
		s.i++
	}
}

// line returns the text up to the end of the line.
func (s *sedReader) line() string {
	start := s.i
	for s.i < len(s.code) && s.code[s.i] != '\n' {
		s.i++
	}
	return strings.TrimSpace(s.code[start:s.i])
}

// delimited skips text up to an unescaped delimiter and returns it.
func (s *sedReader) delimited(d byte, regex bool) (string, bool) {
	start, set := s.i, false
	for ; s.i < len(s.code); s.i++ {
		switch b := s.code[s.i]; {
		case b == '\\':
			s.i++
		case regex && b == '[' && !set:
			set = true
			if s.i+1 < len(s.code) && s.code[s.i+1] == '^' {
				s.i++
			}
			if s.i+1 < len(s.code) && s.code[s.i+1] == ']' {
				s.i++
			}
		case regex && b == ']':
			set = false
		case b == d && (!set || d != '/' || strings.IndexByte(s.code[s.i:], ']') < 0):
			s.i++
			return s.code[start : s.i-1], true
		}
	}
	return "", false
}

// address skips one address.
func (s *sedReader) address() bool {
	switch {
	case s.i >= len(s.code):
		return true
	case s.code[s.i] == '/' || s.code[s.i] == '\\' && s.i+1 < len(s.code):
		d := s.code[s.i]
		if d == '\\' {
			s.i++
			d = s.code[s.i]
		}
		s.i++
		if _, ok := s.delimited(d, true); !ok {
			return false
		}
		s.skip("IM")
	default:
		s.skip("0123456789$~+")
	}
	return true
}

func (s *sedReader) command() bool {
	s.skip(" \t\n;}")
	if s.i >= len(s.code) {
		return true
	}
	if !s.address() {
		return false
	}
	s.skip(" \t")
	if s.i < len(s.code) && s.code[s.i] == ',' {
		s.i++
		s.skip(" \t")
		if !s.address() {
			return false
		}
	}
	s.skip(" \t!")
	if s.i >= len(s.code) {
		return false
	}
	b := s.code[s.i]
	s.i++
	switch b {
	case '{', '}', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F', '\n':
	case 'l', 'L', 'q', 'Q':
		s.skip(" \t0123456789")
	case '#', ':', 'v':
		s.line()
	case 'b', 't', 'T':
		for s.i < len(s.code) && strings.IndexByte(";\n}", s.code[s.i]) < 0 {
			s.i++
		}
	case 'a', 'i', 'c':
		for s.i < len(s.code) && s.code[s.i] != '\n' {
			if s.code[s.i] == '\\' {
				s.i++
			}
			s.i++
		}
		s.i = min(s.i, len(s.code))
	case 'e':
		s.harmless = false
		if line := s.line(); line != "" {
			s.c.out.runs = append(s.c.out.runs, run{via: "sed e", line: line})
		} else {
			s.c.out.unclear = "cannot determine the lines that sed e runs"
		}
	case 'r', 'R':
		s.file(Read)
	case 'w', 'W':
		s.file(Write)
	case 's', 'y':
		return s.substitute(b == 's')
	default:
		return false
	}
	return true
}

func (s *sedReader) file(access Access) {
	name := s.line()
	if access == Write {
		s.harmless = false
	}
	s.c.addPath(word{text: name, static: true}, name, access, FromArgument, false)
}

func (s *sedReader) substitute(flags bool) bool {
	if s.i >= len(s.code) {
		return false
	}
	d := s.code[s.i]
	s.i++
	if _, ok := s.delimited(d, flags); !ok {
		return false
	}
	by, ok := s.delimited(d, false)
	if !ok || !flags {
		return ok
	}
	for ; s.i < len(s.code); s.i++ {
		switch b := s.code[s.i]; {
		case strings.IndexByte("gpiImM0123456789", b) >= 0:
		case b == 'e':
			s.harmless = false
			s.c.out.unclear = "cannot determine the lines that sed s///e runs"
			if strings.TrimSpace(by) != "" {
				s.c.out.runs = append(s.c.out.runs, run{via: "sed s///e", line: by, code: true})
			}
		case b == 'w':
			s.i++
			s.file(Write)
			return true
		case strings.IndexByte(" \t\n;}#", b) >= 0:
			return true
		default:
			return false
		}
	}
	return true
}
