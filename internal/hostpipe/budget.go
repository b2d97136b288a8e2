package hostpipe

import (
	"fmt"
	"maps"
	"sync"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Budget bounds what one process may ask of the host's models. The loop inside keeps to
// the same bounds by itself, and ends its turn in order; this is for one that does not.
type Budget struct {
	// Calls is how many model calls the loop may make; 0 is no bound. Here three times as
	// many are answered, since a summary may come with each.
	Calls int
	// USD is what they may cost; 0 is no bound. No call begins once it is spent, and one
	// is made at a time. A call that is broken off costs what its bytes amount to.
	USD float64
	// Spent is what the run has cost before the process.
	Spent float64
	// MaxTokens and Effort are those of every request, as in [model.Request].
	MaxTokens int
	Effort    string
}

const (
	summaries    = 3 // calls that are answered for each of the loop's
	breaks       = 4 // and those that are broken off: by retries, by an interrupt
	sparedBreaks = 8 // besides

	maxStreams    = 4         // model calls under way
	maxRequest    = 128 << 20 // bytes of the messages of a request; no provider takes as much
	bytesPerToken = 4         // of text, about
)

// meter counts what the models were asked, and what it cost.
type meter struct {
	budget Budget
	turn   chan struct{} // holds one token when calls are made one at a time

	mu       sync.Mutex
	under    int // way
	answered int
	broken   int
	guessed  float64 // US dollars: what calls without a bill are taken to cost
	spent    map[string]event.ModelUsage
}

func newMeter(b Budget) *meter {
	return &meter{budget: b, turn: make(chan struct{}, 1), spent: map[string]event.ModelUsage{}}
}

// overBudget is the error of a request that is not made.
func overBudget(format string, args ...any) error {
	return &model.Error{Kind: model.ErrorInvalid, Provider: "host", Message: fmt.Sprintf(format, args...), Err: ErrRefused}
}

// fits refuses a request that asks for more than the run was given.
func (m *meter) fits(r *wireRequest) error {
	if r.MaxTokens != m.budget.MaxTokens {
		return overBudget("an answer of at most %d tokens was asked for, and the run's are of %d", r.MaxTokens, m.budget.MaxTokens)
	}
	if r.Effort != "" && r.Effort != m.budget.Effort {
		return overBudget("effort %q was asked for, and the run's is %q", r.Effort, m.budget.Effort)
	}
	return nil
}

// begin makes room for a call, or refuses it. The caller ends it.
func (m *meter) begin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.under >= maxStreams {
		return overBudget("%d calls are under way", m.under)
	}
	m.under++
	return nil
}

func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.under--
}

// checkBudget refuses a call when nothing is left for it.
func (m *meter) checkBudget() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := m.total()
	switch b := m.budget; {
	case b.USD > 0 && total >= b.USD:
		return overBudget("the run's budget of $%g is spent: $%.4f", b.USD, total)
	case b.Calls > 0 && m.answered >= summaries*b.Calls:
		return overBudget("the turn's model calls are made: %d, for a bound of %d", m.answered, b.Calls)
	case b.Calls > 0 && m.broken >= breaks*b.Calls+sparedBreaks:
		return overBudget("%d model calls of the turn were broken off", m.broken)
	}
	return nil
}

// total is what the run has cost. The caller holds mu.
func (m *meter) total() float64 {
	total := m.guessed + m.budget.Spent
	for _, u := range m.spent {
		total += u.CostUSD
	}
	return total
}

// answer counts a call that came to its end.
func (m *meter) answer(info model.Info, a *model.Answer, sent, got int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answered++
	use := m.spent[info.Model]
	use.Calls++
	if u := a.Item.Usage; u != nil {
		use.Usage, use.CostUSD = use.Usage.Add(*u), use.CostUSD+info.Cost(*u, a.Cost)
	} else {
		m.guessed += guess(info, sent, got)
	}
	m.spent[info.Model] = use
}

// broke counts a call that ended without an answer.
func (m *meter) broke(info model.Info, sent, got int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if got == 0 {
		sent = 0 // refused, or never sent
	}
	m.broken++
	m.guessed += guess(info, sent, got)
}

func guess(info model.Info, sent, got int) float64 {
	return info.Price.Cost(transcript.Usage{Input: int64(sent / bytesPerToken), Output: int64(got / bytesPerToken)})
}

// SpentUSD is what the run has cost, with what calls without a bill are taken to cost.
func (s *Server) SpentUSD() float64 {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	return s.meter.total()
}

// Spent is what the models were asked so far and what it cost, by model, whatever the
// process inside says of it.
func (s *Server) Spent() map[string]event.ModelUsage {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	return maps.Clone(s.meter.spent)
}
