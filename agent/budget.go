package agent

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// ErrBudget means that the budget of the run is used up.
var ErrBudget = errors.New("the budget of the run is used up")

// budget holds the limits of a run and its usage so far. The agent that the user started and all
// its sub-agents share it.
//
//	reserve ─► spent + reserved + maximum of this call <= limit ─► call ─► settle ─► record
//	   └─ waits for the running calls of others, unless there are none
//
// Even if many agents run in parallel, at most one call exceeds the limit. The zero value has no
// limit.
type budget struct {
	mu            sync.Mutex
	requested     record.Budget // the limit that the options set: 0 keeps the limit, a negative value removes it
	limit         record.Budget
	recordedLimit record.Budget // the recorded limit
	usd           float64       // spent
	tokens        int64
	calls         []*reservation // running
	settled       chan struct{}  // closed when a call ends; nil unless a call waits
}

// reservation is a running model call with its maximum usage.
type reservation struct {
	agent  *Agent
	aside  bool
	usd    float64
	tokens float64
}

// makeBudget gives an agent the budget of its run. If the budget is in US dollars, it rejects
// models whose prices are not known.
func (a *Agent) makeBudget() error {
	switch {
	case a.opt.parent != nil:
		a.budget = a.opt.parent.budget
	case a.opt.Permissions.Run != nil:
		a.budget = a.opt.Permissions.Run.budget
	default:
		a.budget = &budget{}
	}
	if a.opt.parent == nil {
		a.budget.request(a.opt.Limits.MaxBudgetUSD, a.opt.Limits.MaxTotalTokens)
	}
	return a.budget.checkPrices(a.model, a.opt.Model.Fallback)
}

// request sets the limits from the options: 0 keeps a limit, and infinity or a negative value
// removes it.
func (b *budget) request(usd float64, tokens int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if math.IsInf(usd, 1) {
		usd = -1
	}
	b.requested = record.Budget{USD: cmp.Or(usd, b.requested.USD), Tokens: cmp.Or(tokens, b.requested.Tokens)}
	b.applyRequested()
}

// applyRequested replaces the limits by the requested ones. The caller holds mu.
func (b *budget) applyRequested() {
	if b.requested.USD != 0 {
		b.limit.USD = max(b.requested.USD, 0)
	}
	if b.requested.Tokens != 0 {
		b.limit.Tokens = max(b.requested.Tokens, 0)
	}
}

// restore adds the usage and the limits from the run's log.
func (b *budget) restore(st *session.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit, b.recordedLimit = st.Budget, st.Budget
	b.usd, b.tokens = b.usd+st.CostUSD, b.tokens+st.Tokens
	b.applyRequested()
}

// unrecorded returns the limit if it differs from the recorded one, or nil.
func (b *budget) unrecorded() *record.Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit == b.recordedLimit {
		return nil
	}
	limit := b.limit
	return &limit
}

// setRecorded stores the limit that was recorded; nil changes nothing.
func (b *budget) setRecorded(limit *record.Budget) {
	if limit == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.recordedLimit = *limit
}

// spent returns the cost of the run so far and its limit.
func (b *budget) spent() (usd float64, limit record.Budget) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.usd, b.limit
}

// exhausted reports whether the budget is used up.
func (b *budget) exhausted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.usedUp()
}

func (b *budget) usedUp() bool {
	return b.limit.USD > 0 && b.usd >= b.limit.USD || b.limit.Tokens > 0 && b.tokens >= b.limit.Tokens
}

func (b *budget) exceeded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit.USD > 0 && b.usd > b.limit.USD || b.limit.Tokens > 0 && b.tokens > b.limit.Tokens
}

// checkPrices returns an error if a budget in US dollars is set and a model has no known price.
func (b *budget) checkPrices(models ...model.Model) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range models {
		if b.limit.USD > 0 && m != nil && !m.Info().Priced() {
			return m.Info().Unpriced()
		}
	}
	return nil
}

// checkCostKnown returns an error if a budget in US dollars is set and the cost of an answer is
// unknown.
func (b *budget) checkCostKnown(info model.Info, answer *model.Answer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit.USD > 0 && info.Price == nil && answer.Cost == nil && answer.Item.Usage != nil && !answer.More {
		return info.Unpriced()
	}
	return nil
}

// reserve waits until the budget has room for the maximum usage of a call in addition to the
// running calls. If there is no limit, it returns nil without an error. It returns ErrBudget if the
// budget is used up, [model.Info.Unpriced] if the budget is in US dollars and the model has no
// price, and an error when ctx ends.
func (b *budget) reserve(ctx context.Context, a *Agent, m model.Model, req *model.Request, aside bool) (*reservation, error) {
	if err := b.checkPrices(m); err != nil {
		return nil, err
	}
	b.mu.Lock()
	if b.limit == (record.Budget{}) {
		b.mu.Unlock()
		return nil, nil
	}
	r := maxReservation(m.Info(), req)
	r.agent, r.aside = a, aside
	for {
		if b.usedUp() {
			b.mu.Unlock()
			return nil, ErrBudget
		}
		if b.fits(r) {
			b.calls = append(b.calls, r)
			b.mu.Unlock()
			return r, nil
		}
		if b.settled == nil {
			b.settled = make(chan struct{})
		}
		settled := b.settled
		b.mu.Unlock()
		select {
		case <-settled:
		case <-ctx.Done():
			return nil, &model.Error{Kind: model.ErrorCancelled, Provider: m.Info().Provider, Message: ctx.Err().Error(), Err: ctx.Err()}
		}
		b.mu.Lock()
	}
}

// fits reports whether a call may start now. A side call of a tool does not wait for model calls
// that its agent makes for itself, because those may be waiting for the tool. The caller holds mu.
func (b *budget) fits(r *reservation) bool {
	usd, tokens, others := b.usd+r.usd, float64(b.tokens)+r.tokens, false
	for _, c := range b.calls {
		if r.aside && !c.aside && c.agent == r.agent {
			continue
		}
		usd, tokens, others = usd+c.usd, tokens+c.tokens, true
	}
	return !others || (b.limit.USD == 0 || usd <= b.limit.USD) && (b.limit.Tokens == 0 || tokens <= float64(b.limit.Tokens))
}

// maxReservation returns a reservation with the maximum tokens and cost of a call. Each byte of the
// request counts as one token. A maximum that is not known is infinite.
func maxReservation(info model.Info, req *model.Request) *reservation {
	input, output := int64(sizeOf(req)), int64(cmp.Or(req.MaxTokens, info.MaxOutput))
	r := &reservation{usd: math.Inf(1), tokens: math.Inf(1)}
	if output == 0 {
		return r
	}
	r.tokens = float64(input + output)
	if info.Price != nil {
		fresh := info.Price.Cost(transcript.Usage{Input: input, Output: output})
		r.usd = max(fresh, info.Price.Cost(transcript.Usage{CacheWrite: input, Output: output}))
	}
	return r
}

// settle ends a reservation and adds the usage of its call.
func (b *budget) settle(r *reservation, usd float64, tokens int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.usd, b.tokens = b.usd+usd, b.tokens+tokens
	if r == nil {
		return
	}
	b.calls = slices.DeleteFunc(b.calls, func(c *reservation) bool { return c == r })
	if b.settled != nil {
		close(b.settled)
		b.settled = nil
	}
}
