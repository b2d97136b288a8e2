package convert

import (
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/transcript"
)

// maxWaiting is the maximum number of items that wait for results of earlier tool uses.
const maxWaiting = 64

// pairing enforces the pairing rule of transcripts: every tool use has one result, with only
// results in between. Other programs write user input between a use and its result, lose results,
// and write some results twice.
//
//	use a, text, result a   ─►  use a, result a, text
//	use a, use b            ─►  use a, "outcome unknown", use b
//	result without a use    ─►  a custom part, which is not sent to models
type pairing struct {
	open    []string // tool uses that wait for a result
	seen    map[string]bool
	waiting []*item
	made    int // number of results
	emit    func(*item) error
	warn    func(line int, format string, args ...any)
}

func (p *pairing) take(it *item) error {
	if it.again {
		if err := p.close(it.line, p.open); err != nil {
			return err
		}
	}
	p.convertUnpaired(it)
	answers, calls := it.answers(), it.calls()
	if len(p.open) > 0 && !answers && !calls && len(p.waiting) < maxWaiting {
		p.waiting = append(p.waiting, it)
		return nil
	}
	if len(p.open) > 0 && (calls || !answers) {
		left := slices.DeleteFunc(slices.Clone(p.open), func(id string) bool {
			return slices.ContainsFunc(it.parts, func(q part) bool { return q.result == id })
		})
		if err := p.close(it.line, left); err != nil {
			return err
		}
	}
	for _, q := range it.parts {
		if q.result != "" {
			p.open = slices.DeleteFunc(p.open, func(id string) bool { return id == q.result })
		}
	}
	if err := p.emit(it); err != nil {
		return err
	}
	for _, q := range it.parts {
		if q.use != "" {
			p.open = append(p.open, q.use)
		}
	}
	return p.flush()
}

// convertUnpaired converts results without a use, and repeated uses, to custom parts.
func (p *pairing) convertUnpaired(it *item) {
	var answered []string
	for i, q := range it.parts {
		switch {
		case q.result != "" && (!slices.Contains(p.open, q.result) || slices.Contains(answered, q.result)):
			p.warn(it.line, "the result for tool use %s has no open use: it is not sent to models", q.result)
			it.parts[i] = customPart("tool_result", q.raw)
		case q.result != "":
			answered = append(answered, q.result)
		case q.use != "" && p.seen[q.use]:
			p.warn(it.line, "duplicate tool use %s: it is not sent to models", q.use)
			it.parts[i] = customPart("tool_use", q.raw)
		case q.use != "":
			if p.seen == nil {
				p.seen = map[string]bool{}
			}
			p.seen[q.use] = true
		}
	}
}

// close adds results for tool uses that never got one.
func (p *pairing) close(line int, ids []string) error {
	for _, id := range slices.Clone(ids) {
		p.warn(line, "the tool use %s has no result: \"outcome unknown\" was added", id)
		p.made++
		content := textPart(jsonscan.AppendString(nil, history.OutcomeUnknownInFork))
		err := p.emit(&item{
			id: fmt.Sprintf("unknown-%d", p.made), role: transcript.RoleTool, line: line,
			parts: []part{resultPart(id, []part{content}, true, nil)},
		})
		if err != nil {
			return err
		}
		p.open = slices.DeleteFunc(p.open, func(o string) bool { return o == id })
	}
	return p.flush()
}

// flush passes on the waiting items when every use has a result.
func (p *pairing) flush() error {
	if len(p.open) > 0 {
		return nil
	}
	waiting := p.waiting
	p.waiting = nil
	for _, it := range waiting {
		if err := p.emit(it); err != nil {
			return err
		}
	}
	return nil
}

// end passes on all items that still wait. Tool uses at the end of the transcript stay without a
// result.
func (p *pairing) end() error {
	if len(p.waiting) == 0 {
		return nil
	}
	return p.close(p.waiting[0].line, p.open)
}
