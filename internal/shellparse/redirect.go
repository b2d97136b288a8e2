package shellparse

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirection is the combined effect of the redirects of a command.
type redirection struct {
	in          *stdin
	paths       []Path
	stdoutMoved bool // standard output is not written to the pipe

	errors bool // other output, such as errors, may also be written to the pipe
}

func (f *frame) redirects(s *scope, list []*syntax.Redirect, in *stdin) redirection {
	io := redirection{in: in}
	for _, r := range list {
		if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
			s.forget(strings.Trim(r.N.Value, "{}"))
		}
		var access Access
		fd0, fd1 := r.N == nil || r.N.Value == "0", r.N == nil || r.N.Value == "1"
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if text := f.hereDocument(s, r); fd0 {
				io.in = text
			}
			continue
		case syntax.WordHdoc:
			w := f.expandOne(s, r.Word, true)
			if fd0 && w.static {
				io.in = &stdin{kind: stdinKnown, text: w.text + "\n", words: xargsWords(w.text)}
			} else if fd0 {
				io.in = &stdin{kind: stdinUnknown}
			}
			continue
		case syntax.RdrIn:
			access = Read
		case syntax.RdrInOut:
			access = Read | Write
		case syntax.DplIn, syntax.DplOut:
			w := f.expandOne(s, r.Word, false)
			if r.Op == syntax.DplIn && fd0 {
				io.in = &stdin{kind: stdinUnknown}
			}
			io.errors = true
			if r.Op == syntax.DplOut && fd1 {
				io.stdoutMoved = true
			}
			if w.static && isDescriptor(w.text) {
				continue
			}
			access = Write
			if r.Op == syntax.DplIn {
				access = Read
			}
			io.paths = f.resolve(io.paths, s.dirs, use{path: w, arg: f.sourceOf(r.Word), access: access, from: FromRedirect})
			continue
		case syntax.RdrAll, syntax.AppAll:
			access, io.stdoutMoved = Write, true
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob:
			access = Write
		default:
			f.unclear("unsupported redirect: " + f.sourceOf(r))
			continue
		}
		w := f.expandOne(s, r.Word, false)
		if access&Read != 0 && fd0 {
			io.in = &stdin{kind: stdinUnknown}
			if w.static && w.text == "/dev/null" {
				io.in = &stdin{kind: stdinKnown}
			}
		}
		if access&Write != 0 && fd1 {
			io.stdoutMoved = true
		}
		io.paths = f.resolve(io.paths, s.dirs, use{path: w, arg: f.sourceOf(r.Word), access: access, from: FromRedirect})
	}
	return io
}

// isDescriptor reports whether the target of a >& is an open file instead of a file name.
func isDescriptor(s string) bool {
	s = strings.TrimSuffix(s, "-")
	return strings.Trim(s, "0123456789") == ""
}

// hereDocument returns the text of a here-document.
func (f *frame) hereDocument(s *scope, r *syntax.Redirect) *stdin {
	if r.Hdoc == nil {
		return &stdin{kind: stdinKnown}
	}
	e := fields{frame: f, s: s, src: f.sourceOf(r.Hdoc), whole: true, raw: true, any: true}
	if isQuotedDelimiter(r.Word) {
		for _, p := range r.Hdoc.Parts {
			l, ok := p.(*syntax.Lit)
			if !ok {
				f.scan(s, p)
				e.dynamic = true
				continue
			}
			e.add(l.Value)
		}
	} else {
		e.addQuoted(r.Hdoc.Parts, true)
	}
	e.flush()
	w := e.out[0]
	if !w.static {
		return &stdin{kind: stdinUnknown}
	}
	if r.Op == syntax.DashHdoc {
		lines := strings.SplitAfter(w.text, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		w.text = strings.Join(lines, "")
	}
	return &stdin{kind: stdinKnown, text: w.text, words: xargsWords(w.text)}
}

// isQuotedDelimiter reports whether any part of a here-document's delimiter is quoted.
func isQuotedDelimiter(w *syntax.Word) bool {
	for _, p := range w.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok || strings.IndexByte(l.Value, '\\') >= 0 {
			return true
		}
	}
	return false
}

// xargsWords returns the words into which xargs splits a text, or nil if the text contains quotes or
// backslashes.
func xargsWords(text string) []word {
	if text == "" || strings.ContainsAny(text, `'"\`) {
		return nil
	}
	var out []word
	for w := range strings.FieldsSeq(text) {
		out = append(out, word{text: w, static: true})
	}
	return out
}
