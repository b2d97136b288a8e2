package vendoragent

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Stream yields the next output of the agent. It starts a turn, or continues the turn that is
// running.
func (g *VendorAgent) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		items, err := itemsOf(req.Messages)
		if err != nil {
			yield(nil, err)
			return
		}
		notify := func(text string) bool { return yield(model.Notice{Text: text}, nil) }
		x := g.current()
		if x == nil || x.concluded() {
			if x, err = g.begin(ctx, items, req.System, notify); err != nil {
				yield(nil, err)
				return
			}
		} else {
			g.queueInput(items)
		}
		a, err := g.listen(ctx, x, yield)
		if err == nil {
			err = g.confirm(ctx, x)
		}
		switch {
		case isStopped(err):
			return
		case err != nil:
			yield(nil, err)
		default:
			yield(a, nil)
		}
	}
}

func itemsOf(wires []model.EncodedItem) ([]transcript.Encoded, error) {
	items := make([]transcript.Encoded, len(wires))
	for i, w := range wires {
		if err := items[i].IndexTrusted(w.JSON); err != nil {
			return nil, fmt.Errorf("vendoragent: item %d: %w", i, err)
		}
	}
	return items, nil
}

// queueInput stores input that arrives during a turn; the agent gets it after that turn.
func (g *VendorAgent) queueInput(items []transcript.Encoded) {
	at := len(items)
	for at > 0 && items[at-1].Role() != transcript.RoleAssistant {
		at--
	}
	for _, e := range items[at:] {
		if isInput(e) && !slices.ContainsFunc(g.late, func(l transcript.Encoded) bool { return l.ID() == e.ID() }) {
			g.late = append(g.late, e)
		}
	}
}

// hasNewInput reports whether there is user input that the agent has not received.
func (g *VendorAgent) hasNewInput() bool {
	return slices.ContainsFunc(g.late, func(e transcript.Encoded) bool { return e.Role() == transcript.RoleUser })
}

// listen yields deltas, and returns the next complete item or the error of the turn.
func (g *VendorAgent) listen(ctx context.Context, x *vendorTurn, yield func(model.Event, error) bool) (model.Answer, error) {
	for {
		m, ok, err := x.peek(ctx)
		if err != nil {
			x.kill(errInterrupted)
			return model.Answer{}, g.failed(x, "interrupted", err)
		}
		if !ok {
			return g.finalAnswer(x)
		}
		if g.held != nil && m.notice == "" {
			return g.releaseHeld(true), nil
		}
		x.take()
		switch {
		case m.item != nil:
			g.pendingText, g.thinking = "", ""
			it := g.sign(x, m.item)
			if len(it.ToolUses()) > 0 {
				it.Finish = transcript.FinishToolUse
				return model.Answer{Item: *it}, nil
			}
			g.held = it
		case m.delta != nil:
			if !g.emit(m, yield) {
				x.kill(errInterrupted)
				return model.Answer{}, errStopped
			}
		default:
			if !yield(model.Notice{Text: m.notice}, nil) {
				x.kill(errInterrupted)
				return model.Answer{}, errStopped
			}
		}
	}
}

func (g *VendorAgent) emit(m message, yield func(model.Event, error) bool) bool {
	g.pendingText += m.delta.Text
	g.thinking += m.delta.Thinking
	if m.delta.Text != "" && !yield(model.TextDelta{Text: m.delta.Text}, nil) {
		return false
	}
	return m.delta.Thinking == "" || yield(model.ThinkingDelta{Text: m.delta.Thinking}, nil)
}

// sign adds the vendor's mark to an item.
func (g *VendorAgent) sign(x *vendorTurn, it *transcript.Item) *transcript.Item {
	m := vendorMark{Name: g.opt.Vendor.Name(), Session: g.sessionOf(x)}
	if !g.opt.Ephemeral && sessionName().MatchString(m.Session) {
		// Problems with the file are reported when the session is resumed.
		if size, err := g.sessionFileSize(m.Session); err == nil && size < math.MaxInt64 {
			m.FileBytes = size
		}
	}
	m.stamp(it)
	if it.Usage != nil {
		u := validUsage(*it.Usage)
		it.Usage = &u
		g.turnUsage = g.turnUsage.Add(*it.Usage)
	}
	return it
}

// releaseHeld returns the item that was held back because it could have been the last one.
func (g *VendorAgent) releaseHeld(more bool) model.Answer {
	it := *g.held
	g.held = nil
	if it.Finish != transcript.FinishRefusal || more {
		it.Finish = transcript.FinishStop
	}
	return model.Answer{Item: it, More: more}
}

// finalAnswer returns the answer of a turn that has ended.
func (g *VendorAgent) finalAnswer(x *vendorTurn) (model.Answer, error) {
	end, exit, _, wire := x.outcome()
	if wire != nil || end.Failure != "" {
		if g.held != nil {
			return g.releaseHeld(true), nil // the error follows
		}
		x.conclude()
		g.recordCrash(x)
		err := g.failed(x, x.failure(), exit.Err)
		if rest := minus(validUsage(end.Usage), g.turnUsage); rest != (transcript.Usage{}) || end.Cost > 0 {
			err.err.Usage, err.err.Cost = &rest, g.reportedCost(end)
		}
		return model.Answer{}, err
	}
	if g.held == nil {
		it := &transcript.Item{Role: transcript.RoleAssistant}
		if end.Text != "" {
			it.Parts = []transcript.Part{transcript.Text{Text: end.Text}}
		}
		g.held = g.sign(x, it)
	}
	x.conclude()
	rest := minus(validUsage(end.Usage), g.turnUsage)
	if u := g.held.Usage; u != nil {
		rest = u.Add(rest)
	}
	if rest != (transcript.Usage{}) || end.Cost > 0 {
		g.held.Usage = &rest
	}
	a := g.releaseHeld(g.hasNewInput())
	a.Cost = g.reportedCost(end)
	return a, nil
}

// reportedCost returns the cost that the vendor reports for its turn, or nil if the vendor reports none.
func (g *VendorAgent) reportedCost(end vendor.End) *float64 {
	if end.Cost <= 0 && !g.Info().Reported {
		return nil
	}
	return new(max(end.Cost, 0))
}

// mostTokens is a number of tokens that no model reaches in a turn. A vendor's counts are limited
// to values from 0 to this number, so that sums do not overflow.
const mostTokens = 1 << 40

func validUsage(u transcript.Usage) transcript.Usage {
	in := func(n int64) int64 { return min(max(n, 0), mostTokens) }
	return transcript.Usage{
		Input: in(u.Input), Output: in(u.Output), CacheRead: in(u.CacheRead), CacheWrite: in(u.CacheWrite), Reasoning: in(u.Reasoning),
	}
}

// minus returns a minus b.
func minus(a, b transcript.Usage) transcript.Usage {
	return transcript.Usage{
		Input: max(a.Input-b.Input, 0), Output: max(a.Output-b.Output, 0), CacheRead: max(a.CacheRead-b.CacheRead, 0),
		CacheWrite: max(a.CacheWrite-b.CacheWrite, 0), Reasoning: max(a.Reasoning-b.Reasoning, 0),
	}
}

// failed returns the error of a failed turn, with the output so far.
func (g *VendorAgent) failed(x *vendorTurn, what string, cause error) *TurnError {
	it := g.held
	if it == nil && g.pendingText+g.thinking != "" {
		it = &transcript.Item{Role: transcript.RoleAssistant}
		if g.thinking != "" {
			it.Parts = append(it.Parts, transcript.Thinking{Text: g.thinking})
		}
		if g.pendingText != "" {
			it.Parts = append(it.Parts, transcript.Text{Text: g.pendingText})
		}
		it = g.sign(x, it)
	}
	g.held, g.pendingText, g.thinking = nil, "", ""
	name := g.opt.Vendor.Name()
	return &TurnError{Vendor: name, Detail: what, err: &model.Error{
		Kind: model.ErrorInvalid, Provider: name, Message: what, Partial: it, Err: cause,
	}}
}
