package settings

import (
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// Masking says what is masked in stored text.
type Masking struct {
	Mask     Value[bool]             // default true
	Patterns []Value[secret.Pattern] // patterns in addition to the built-in ones
}

type parsedSecrets struct {
	mask     Value[*bool]
	patterns []Value[secret.Pattern]
}

func (s *parsedSource) secretsBlock(path string, n jsontree.Node) {
	s.object(path, n, map[string]func(string, jsontree.Node){
		"mask":     s.flag(&s.secrets.mask),
		"patterns": s.patterns,
	})
}

func (s *parsedSource) patterns(path string, n jsontree.Node) {
	if !s.want(path, n, jsontree.List) {
		return
	}
	for _, item := range n.Items {
		if p, ok := s.pattern(path, item); ok {
			s.secrets.patterns = append(s.secrets.patterns, Value[secret.Pattern]{p, s.origin(item, p.ID)})
		}
	}
}

const patternHint = `write {"id": "our-token", "words": ["ours_"], "expr": "\\bours_[0-9a-f]{32}\\b"}`

func (s *parsedSource) pattern(path string, n jsontree.Node) (p secret.Pattern, ok bool) {
	if !s.want(path, n, jsontree.Object) {
		return p, false
	}
	err := n.Decode(s.data, &p)
	if err == nil {
		_, err = secret.New(&secret.Options{Patterns: []secret.Pattern{p}, NoBuiltin: true})
	}
	switch {
	case err != nil:
		s.fault(n.At, patternHint, "%s: %v", path, err)
	case p.ID == "" || p.Expr == "":
		s.fault(n.At, patternHint, "%s: a pattern needs an id and an expr", path)
	default:
		return p, true
	}
	return p, false
}

// addSecrets adds a layer's masking settings. The patterns of an untrusted folder are ignored: a
// pattern could also hide from later readers what happened.
func (m *merger) addSecrets(s *parsedSource) {
	if !s.untrusted {
		preferFlag(&m.mask, s.secrets.mask)
		m.out.Secrets.Patterns = append(m.out.Secrets.Patterns, s.secrets.patterns...)
		return
	}
	if s.secrets.mask.Value != nil && !*s.secrets.mask.Value {
		m.ignore("secrets.mask false", s.secrets.mask.Origin)
	}
	for _, v := range s.secrets.patterns {
		m.ignore("secrets.patterns "+v.Value.ID, v.Origin)
	}
}

// checkSecrets resolves what is masked, and checks the patterns of all layers together.
func (m *merger) checkSecrets() {
	m.out.Secrets.Mask = Value[bool]{Value: true}
	if m.mask.Value != nil {
		m.out.Secrets.Mask = Value[bool]{*m.mask.Value, m.mask.Origin}
	}
	if len(m.out.Secrets.Patterns) == 0 {
		return
	}
	if _, err := m.out.Masker(); err != nil {
		o := m.out.Secrets.Patterns[0].Origin
		m.problems = append(m.problems, Problem{
			Layer: o.Layer, File: o.File, Line: o.Line, Col: o.Col, Detail: "secrets.patterns: " + err.Error(), Hint: patternHint, Fatal: true,
		})
	}
}

// Masker returns the masker for the settings; nil, which masks nothing, if masking is off.
func (s *Settings) Masker() (*secret.Masker, error) {
	if !s.Secrets.Mask.Value {
		return nil, nil
	}
	var more []secret.Pattern
	for _, v := range s.Secrets.Patterns {
		more = append(more, v.Value)
	}
	return secret.New(&secret.Options{Patterns: more})
}
