package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// Compaction says when and how a long transcript is compacted. A value of 0 is not set.
type Compaction struct {
	Auto       Value[bool]    // false: the transcript is never compacted automatically; default true
	Share      Value[float64] // of the model's context that is used
	Items      Value[int]     // number of items in the transcript
	KeepTokens Value[int]     // tokens of the newest items that a summary keeps
	Steps      Value[[]CompactionStep]
}

// CompactionStep is a step by its name: dropThinking, dropFailed, keepRecent, redact or summarise.
type CompactionStep struct {
	Name  string
	Items int // for keepRecent
}

type parsedCompaction struct {
	auto  Value[*bool]
	share Value[float64]
	items Value[int]
	keep  Value[int]
	steps Value[[]CompactionStep]
}

func (s *parsedSource) compactBlock(path string, n jsontree.Node) {
	c := &s.compaction
	s.object(path, n, map[string]func(string, jsontree.Node){
		"auto":  s.autoCompact,
		"share": s.share(&c.share),
		"items": s.number(&c.items, 4, "items, such as 400"),
		"keep":  s.number(&c.keep, 1, "tokens, such as 20000"),
		"steps": s.steps,
	})
	if steps := c.steps.Value; c.keep.Value > 0 && len(steps) > 0 && !slices.ContainsFunc(steps, func(st CompactionStep) bool { return st.Name == "summarise" }) {
		s.fault(n.At, `add "summarise" to the steps, or remove keep`, "%s.keep has no effect: no step summarises", path)
	}
}

// autoCompact decodes compact.auto, or Claude Code's autoCompactEnabled.
func (s *parsedSource) autoCompact(path string, n jsontree.Node) {
	if s.compaction.auto.Value != nil {
		s.fault(n.At, "use only one of them", "%s: compact.auto and autoCompactEnabled are the same setting", path)
		return
	}
	s.flag(&s.compaction.auto)(path, n)
}

func (s *parsedSource) share(into *Value[float64]) func(string, jsontree.Node) {
	return func(path string, n jsontree.Node) {
		share, err := strconv.ParseFloat(n.Text, 64)
		if n.Kind != jsontree.Number || err != nil || !(share > 0 && share <= 1) {
			s.fault(n.At, "write a part of the context, such as 0.8", "%s: want a fraction between 0 and 1", path)
			return
		}
		*into = Value[float64]{share, s.origin(n, n.Text)}
	}
}

// number decodes a whole number with a minimum.
func (s *parsedSource) number(into *Value[int], minimum int, what string) func(string, jsontree.Node) {
	return func(path string, n jsontree.Node) {
		count, err := strconv.Atoi(n.Text)
		if n.Kind != jsontree.Number || err != nil || count < minimum || count > 1_000_000_000 {
			s.fault(n.At, "write a number of "+what, "%s: want a number of at least %d", path, minimum)
			return
		}
		*into = Value[int]{count, s.origin(n, n.Text)}
	}
}

const stepsHint = `write a list of "dropThinking", "dropFailed", {"keepRecent": 40}, "redact" and "summarise", in the order in which they run`

func (s *parsedSource) steps(path string, n jsontree.Node) {
	if !s.want(path, n, jsontree.List) {
		return
	}
	var list []CompactionStep
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		step, ok := s.step(at, item)
		switch {
		case !ok:
			return
		case slices.ContainsFunc(list, func(st CompactionStep) bool { return st.Name == step.Name }):
			s.fault(item.At, stepsHint, "%s: duplicate step %s", at, step.Name)
			return
		}
		list = append(list, step)
	}
	if len(list) == 0 {
		s.fault(n.At, stepsHint, "%s is empty", path)
		return
	}
	s.compaction.steps = Value[[]CompactionStep]{list, s.origin(n, strings.Join(stepNames(list), ", "))}
}

func stepNames(list []CompactionStep) (names []string) {
	for _, step := range list {
		names = append(names, step.Name)
	}
	return names
}

func (s *parsedSource) step(at string, n jsontree.Node) (CompactionStep, bool) {
	if n.Kind == jsontree.Object && len(n.Members) == 1 && n.Members[0].Key == "keepRecent" {
		var items Value[int]
		s.number(&items, 1, `items, as in {"keepRecent": 40}`)(at+".keepRecent", n.Members[0].Value)
		return CompactionStep{Name: "keepRecent", Items: items.Value}, items.Value > 0
	}
	if n.Kind == jsontree.Text && slices.Contains([]string{"dropThinking", "dropFailed", "redact", "summarise"}, n.Text) {
		return CompactionStep{Name: n.Text}, true
	}
	s.fault(n.At, stepsHint, "unknown step %s", at)
	return CompactionStep{}, false
}

// addCompaction adds a layer's compaction settings. The values of an untrusted folder are ignored,
// because they could make the agent forget things.
func (m *merger) addCompaction(s *parsedSource) {
	c, out := &s.compaction, &m.out.Compaction
	if !s.untrusted {
		preferFlag(&m.compact, c.auto)
		prefer(&out.Share, c.share)
		prefer(&out.Items, c.items)
		prefer(&out.KeepTokens, c.keep)
		if out.Steps.Value == nil {
			out.Steps = c.steps
		}
		return
	}
	if c.auto.Value != nil {
		m.ignore("compact.auto "+c.auto.Origin.Rule, c.auto.Origin)
	}
	if c.share.Value != 0 {
		m.ignore("compact.share "+c.share.Origin.Rule, c.share.Origin)
	}
	if c.items.Value != 0 {
		m.ignore("compact.items "+c.items.Origin.Rule, c.items.Origin)
	}
	if c.keep.Value != 0 {
		m.ignore("compact.keep "+c.keep.Origin.Rule, c.keep.Origin)
	}
	if c.steps.Value != nil {
		m.ignore("compact.steps "+c.steps.Origin.Rule, c.steps.Origin)
	}
}

func (m *merger) checkCompaction() {
	m.out.Compaction.Auto = Value[bool]{Value: true}
	if m.compact.Value != nil {
		m.out.Compaction.Auto = Value[bool]{*m.compact.Value, m.compact.Origin}
	}
}
