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

// ErrBudget says that the budget of the run is used up.
var ErrBudget = errors.New("the budget of the run is used up")

// budget is what a run may use and has used. The agent that a person has started and all that
// work for it have the same one.
//
//	reserve ─► spent + under way + at most this call <= bound ─► call ─► settle ─► record
//	   └─ waits for the calls of others that are under way, unless there are none
//
// So whatever runs side by side, no more than one call goes beyond the bound.
// The zero value is one without a bound.
type budget struct {
	mu      sync.Mutex
	asked   record.Budget // by options: 0 leaves the bound, and less than 0 lifts it
	limited record.Budget
	record  record.Budget // the bound that is on record
	usd     float64       // spent
	tokens  int64
	calls   []*reservation // under way
	settled chan struct{}  // closed when one has ended, and replaced; nil until somebody waits
}

// reservation is a model call under way, and the most that it may use.
type reservation struct {
	agent  *Agent
	aside  bool
	usd    float64
	tokens float64
}

// makeBudget gives an agent the budget of its run, and refuses models that cannot be held to it.
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
		a.budget.ask(a.opt.Limits.MaxBudgetUSD, a.opt.Limits.MaxTotalTokens)
	}
	return a.budget.prices(a.model, a.opt.Model.Fallback)
}

// ask takes what options say: 0 leaves the bound, and infinity or less than 0 lifts it.
func (b *budget) ask(usd float64, tokens int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if math.IsInf(usd, 1) {
		usd = -1
	}
	b.asked = record.Budget{USD: cmp.Or(usd, b.asked.USD), Tokens: cmp.Or(tokens, b.asked.Tokens)}
	b.bind()
}

// bind puts what was asked for in place of the bound. The caller holds mu.
func (b *budget) bind() {
	if b.asked.USD != 0 {
		b.limited.USD = max(b.asked.USD, 0)
	}
	if b.asked.Tokens != 0 {
		b.limited.Tokens = max(b.asked.Tokens, 0)
	}
}

// restore goes on with what the run's log says.
func (b *budget) restore(st *session.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limited, b.record = st.Budget, st.Budget
	b.usd, b.tokens = b.usd+st.CostUSD, b.tokens+st.Tokens
	b.bind()
}

// unrecorded is the bound when it is not on record as it is.
func (b *budget) unrecorded() *record.Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limited == b.record {
		return nil
	}
	bound := b.limited
	return &bound
}

// recorded notes that a bound is on record; nil changes nothing.
func (b *budget) recorded(bound *record.Budget) {
	if bound == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.record = *bound
}

// spent is what the run has used, and its bound.
func (b *budget) spent() (usd float64, bound record.Budget) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.usd, b.limited
}

// exhausted reports whether nothing is left, and beyond whether more than all was used.
func (b *budget) exhausted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.none()
}

func (b *budget) none() bool {
	return b.limited.USD > 0 && b.usd >= b.limited.USD || b.limited.Tokens > 0 && b.tokens >= b.limited.Tokens
}

func (b *budget) exceeded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limited.USD > 0 && b.usd > b.limited.USD || b.limited.Tokens > 0 && b.tokens > b.limited.Tokens
}

// prices refuses models whose price has to be known and is not.
func (b *budget) prices(models ...model.Model) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range models {
		if b.limited.USD > 0 && m != nil && !m.Info().Priced() {
			return m.Info().Unpriced()
		}
	}
	return nil
}

// checkCostKnown refuses an answer that does not say what it cost where that has to be known.
func (b *budget) checkCostKnown(info model.Info, answer *model.Answer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limited.USD > 0 && info.Price == nil && answer.Cost == nil && answer.Item.Usage != nil && !answer.More {
		return info.Unpriced()
	}
	return nil
}

// reserve waits until a call fits, at its most, beside those that are under way. Nil without
// an error: there is no bound. Errors: ErrBudget, that of a model without a price, and that of ctx.
func (b *budget) reserve(ctx context.Context, a *Agent, m model.Model, req *model.Request, aside bool) (*reservation, error) {
	if err := b.prices(m); err != nil {
		return nil, err
	}
	b.mu.Lock()
	if b.limited == (record.Budget{}) {
		b.mu.Unlock()
		return nil, nil
	}
	r := maxTokensOf(m.Info(), req)
	r.agent, r.aside = a, aside
	for {
		if b.none() {
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

// fits reports whether a call may begin now. What a tool asks does not wait for the call of the
// agent that it is a tool of: that may be what waits for the tool. The caller holds mu.
func (b *budget) fits(r *reservation) bool {
	usd, tokens, others := b.usd+r.usd, float64(b.tokens)+r.tokens, false
	for _, c := range b.calls {
		if r.aside && !c.aside && c.agent == r.agent {
			continue
		}
		usd, tokens, others = usd+c.usd, tokens+c.tokens, true
	}
	return !others || (b.limited.USD == 0 || usd <= b.limited.USD) && (b.limited.Tokens == 0 || tokens <= float64(b.limited.Tokens))
}

// maxTokensOf is the most that a call may use: no token is shorter than a byte.
func maxTokensOf(info model.Info, req *model.Request) *reservation {
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

// settle ends a call that has used so much.
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
