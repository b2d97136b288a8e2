package shellparse

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// The limits of one reading. A line that exceeds a limit is unclear. Ordinary lines are far below
// the limits, which keep malicious lines from being slow.
const (
	maxCommands = 4096
	maxDepth    = 16      // nested shells and functions
	maxNesting  = 100     // nested parentheses, braces and keywords
	maxSteps    = 20_000  // statements processed
	maxText     = 4 << 20 // bytes from expansions
	maxSource   = 1 << 20 // bytes of nested lines
	maxVars     = 256     // variables, and functions
)

// reader is the state while one line is parsed.
type reader struct {
	opts *Options
	out  *Reading

	depth, nesting, steps, text, source int

	stopped      bool
	running      []string        // functions that are being parsed
	called       []*syntax.Stmt  // the bodies of functions that were parsed in a call
	declarations []declaration   // where each body was declared
	seen         map[string]bool // reasons reported as unclear
	outs         map[*syntax.CmdSubst]output
	ints         bool // a variable has the attribute integer
	later        bool // a trap sets a variable to unknown text
	perhaps      int  // greater than 0 in a part of an expression that may not be evaluated
}

type declaration struct {
	body  *syntax.Stmt
	name  string
	frame *frame
	scope *scope
}

// frame is one text that is being parsed, and the command that runs it.
type frame struct {
	*reader
	src string
	via []string
}

// startState is the initial state of a reading.
type startState struct {
	reader reader
	frame  frame
	scope  scope
	in     stdin
	dirs   [1]string
	clock  int
}

// failedPrefix is the reason for a reading that failed because of a bug in this package or in the parser.
const failedPrefix = "parsing the command line failed: "

func read(line string, o *Options) (r *Reading) {
	b := newStart(line, o)
	defer func() {
		if bug := recover(); bug != nil {
			r = &Reading{Unclear: []string{fmt.Sprint(failedPrefix, bug)}}
		}
	}()
	if !b.frame.parseSimple(&b.scope, &b.in) {
		b.parseLine()
	}
	return b.reader.out
}

func newStart(line string, o *Options) *startState {
	b := &startState{}
	b.scope.clock = &b.clock
	b.reader.opts, b.reader.out = o, &Reading{}
	b.frame.reader, b.frame.src = &b.reader, line
	if o.Dir != "" {
		b.dirs[0] = cleanPath(o.Dir)
		b.scope.dirs, b.scope.fail = b.dirs[:], b.dirs[:]
	}
	return b
}

// parseLine parses the line with the parser.
func (b *startState) parseLine() {
	b.frame.parseText(&b.scope, &b.in)
	b.frame.parseUncalled()
	if b.reader.stopped { // some places were reserved but never filled
		b.reader.out.Commands = slices.DeleteFunc(b.reader.out.Commands, func(c Command) bool { return c.Line == "" })
	}
}

var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// parse parses the frame's text into statements, or returns the reason why it cannot.
func (f *frame) parse() (stmts []*syntax.Stmt, why string) {
	f.source += len(f.src)
	switch {
	case len(f.src) > MaxLine:
		return nil, fmt.Sprintf("the command line has %d bytes; at most %d are parsed", len(f.src), MaxLine)
	case f.source > maxSource+MaxLine:
		return nil, "the command line has too many nested lines"
	case strings.IndexByte(f.src, 0) >= 0:
		return nil, "the command line contains a NUL byte"
	case tooNested(f.src):
		return nil, "the command line is nested too deeply"
	}
	p, _ := parsers.Get().(*syntax.Parser)
	file, err := p.Parse(strings.NewReader(f.src), "")
	for tries := 0; err != nil && tries < maxDepth; tries++ {
		fixed, ok := literalParen(f.src, err)
		if !ok {
			break
		}
		f.src = fixed
		file, err = p.Parse(strings.NewReader(f.src), "")
	}
	parsers.Put(p)
	if err != nil {
		return nil, "cannot be parsed: " + err.Error()
	}
	if strings.IndexByte(f.src, '\r') >= 0 {
		f.unclear("the command line contains a carriage return, which shells interpret differently")
	}
	return file.Stmts, ""
}

// literalParen inserts a backslash before the parenthesis of a \$( that makes a line unparsable:
// the one at the position of the error, or else the last one before it. Shells reject such a line
// completely. With the parenthesis as text, everything around it can be parsed.
func literalParen(src string, err error) (string, bool) {
	var parse syntax.ParseError
	if !errors.As(err, &parse) {
		return "", false
	}
	at := int(parse.Pos.Offset())
	for _, from := range []int{at, strings.LastIndexByte(src[:min(at, len(src))], '(')} {
		if from >= 2 && from < len(src) && src[from] == '(' && src[from-2:from] == `\$` && (from < 3 || src[from-3] != '\\') {
			return src[:from] + `\` + src[from:], true
		}
	}
	return "", false
}

// tooNested reports whether more brackets are open at one point than in any reasonable line. It
// ignores quotes, so its count can be too high, but not too low.
func tooNested(src string) bool {
	open := 0
	for i := range len(src) {
		switch src[i] {
		case '(', '{', '[':
			open++
			if open > 4*maxNesting {
				return true
			}
		case ')', '}', ']':
			open = max(0, open-1)
		}
	}
	return false
}

// parseText parses the whole text of the frame. Afterwards, the scope has the state after the last
// command.
func (f *frame) parseText(s *scope, in *stdin) output {
	stmts, why := f.parse()
	if why != "" {
		f.unclear(why)
		return output{}
	}
	return f.parseStmts(s, stmts, in)
}

// parseUncalled parses the bodies of functions that nothing in the line calls. Their parameters are
// unknown.
func (f *frame) parseUncalled() {
	next := 0
	for next < len(f.declarations) { // a body may declare more
		d := f.declarations[next]
		next++
		if slices.Contains(f.called, d.body) {
			continue
		}
		d.frame.parseBody(d.scope, d.name, d.body, nil, &stdin{kind: stdinUnknown})
	}
}

// unclear records a reason why the reading is not static. Each reason is recorded only once.
func (r *reader) unclear(why string) {
	if r.seen[why] {
		return
	}
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	r.seen[why] = true
	r.out.Unclear = append(r.out.Unclear, why)
}

// stop ends the reading before the end of the line.
func (r *reader) stop(why string) {
	r.unclear(why)
	r.stopped = true
}

// step counts a statement and reports whether the limit allows it.
func (r *reader) step() bool {
	r.steps++
	if r.steps > maxSteps {
		r.stop("the command line is too complex")
	}
	return !r.stopped
}

// spend adds the bytes of an expansion to the count.
func (r *reader) spend(n int) {
	r.text += n
	if r.text > maxText {
		r.stop("the command line expands to too much text")
	}
}

// reserve reserves a place for a command at the end of the list.
func (r *reader) reserve() int {
	if len(r.out.Commands) >= maxCommands {
		r.stop(fmt.Sprintf("the command line runs more than %d commands", maxCommands))
	}
	r.out.Commands = append(r.out.Commands, Command{})
	return len(r.out.Commands) - 1
}

// drop removes a reserved place.
func (r *reader) drop(slot int) {
	c := r.out.Commands
	copy(c[slot:], c[slot+1:])
	c[len(c)-1] = Command{}
	r.out.Commands = c[:len(c)-1]
}
