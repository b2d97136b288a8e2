package secret

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
)

// pattern is a Pattern ready for use. The built-in expressions are compiled when one of their
// words first occurs: most programs never need most of them.
type pattern struct {
	Pattern
	expr func() *regexp.Regexp
}

var validID = lazyregexp.Must(`^[a-z0-9][a-z0-9-]{0,63}$`)

// builtinMasker returns the masker with only the built-in patterns, which most programs use.
var builtinMasker = sync.OnceValues(func() (*Masker, error) { return compiled(Options{}) })

// New compiles the patterns. It returns an error with the pattern's name if its expression
// does not compile, or if it fails its own examples.
func New(o *Options) (*Masker, error) {
	if o == nil || !o.NoBuiltin && len(o.Patterns) == 0 {
		return builtinMasker()
	}
	return compiled(*o)
}

func compiled(opt Options) (*Masker, error) {
	m := &Masker{}
	if !opt.NoBuiltin {
		for _, p := range builtin {
			m.patterns = append(m.patterns, pattern{p, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(p.anchored()) })})
		}
	}
	for i, p := range opt.Patterns {
		ready, err := compile(p)
		if err == nil && slices.ContainsFunc(m.patterns, func(q pattern) bool { return q.ID == p.ID }) {
			err = fmt.Errorf("secret: pattern %q: duplicate id", p.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("%w (custom pattern %d)", err, i+1)
		}
		m.patterns = append(m.patterns, ready)
	}
	m.index()
	return m, m.checkExamples(opt.Patterns)
}

// compile checks a custom pattern.
func compile(p Pattern) (pattern, error) {
	bad := func(format string, args ...any) (pattern, error) {
		return pattern{}, fmt.Errorf("secret: pattern %q: %s", p.ID, fmt.Sprintf(format, args...))
	}
	if !validID().MatchString(p.ID) {
		return bad("the id may contain only lower-case letters, digits and dashes")
	}
	if slices.Contains(p.Words, "") {
		return bad("a word is empty; without words, every text is searched")
	}
	re, err := regexp.Compile(p.Expr)
	switch {
	case err != nil:
		return bad("%v", err)
	case p.Starts && len(p.Words) == 0, p.WordStart && !p.Starts:
		return bad("the field Starts requires Words, and WordStart requires Starts")
	case re.MatchString(""):
		return bad("the expression %q matches the empty text; it must match at least one character", p.Expr)
	case p.Replacement != "" && re.MatchString(p.Replacement):
		return bad("the expression matches its own replacement %q", p.Replacement)
	case p.Entropy < 0 || p.Entropy > 8:
		return bad("entropy %g is not between 0 and 8 bits per character", p.Entropy)
	}
	p.Words = slices.Clone(p.Words)
	re = regexp.MustCompile(p.anchored())
	return pattern{p, func() *regexp.Regexp { return re }}, nil
}

// anchored returns the expression in the form in which it is run.
func (p *Pattern) anchored() string {
	if p.Starts {
		return `\A(?:` + p.Expr + `)`
	}
	return p.Expr
}

// index prepares a search that finds the words of all patterns in one pass.
func (m *Masker) index() {
	var list []word
	for i := range m.patterns {
		p := &m.patterns[i]
		if p.Replacement == "" {
			p.Replacement = marker + p.ID + "]"
		}
		if len(p.Words) == 0 {
			m.unkeyed = append(m.unkeyed, i)
		}
		for _, w := range p.Words {
			list = append(list, word{strings.ToLower(w), i})
		}
	}
	m.words = newWords(list)
}

// checkExamples tests custom patterns with the examples that they contain.
func (m *Masker) checkExamples(given []Pattern) error {
	for _, p := range given {
		has := func(text string) bool {
			_, found := m.text(text)
			return slices.Contains(found, p.ID)
		}
		for _, e := range p.Examples {
			if !has(e) {
				return fmt.Errorf("secret: pattern %q does not find its example %q", p.ID, e)
			}
		}
		for _, e := range p.CounterExamples {
			if has(e) {
				return fmt.Errorf("secret: pattern %q finds its counterexample %q", p.ID, e)
			}
		}
	}
	return nil
}
