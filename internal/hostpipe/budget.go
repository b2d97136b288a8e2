package hostpipe

import (
	"fmt"
	"maps"
	"sync"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Budget limits the use of the host's models by one process. The loop in the container keeps the
// same limits itself and ends its turn properly; this type is for a process that does not keep
// them.
type Budget struct {
	// Calls is the maximum number of model calls of the loop; 0 is no limit. The host allows three
	// times as many, because summaries need further calls.
	Calls int
	// USD is the maximum cost in US dollars; 0 is no limit. If it is set, calls run one at a time,
	// and no call starts after the amount was spent. The cost of an interrupted call is estimated
	// from its bytes.
	USD float64
	// Spent is the cost of the run in US dollars before this process was started.
	Spent float64
	// MaxTokens and Effort limit every request, as in [model.Request].
	MaxTokens int
	Effort    string
}

const (
	allowedPerCall = 3 // number of calls that the host allows for each call of the loop
	brokenPerCall  = 4 // number of interrupted calls that the host allows for each call of the loop
	extraBroken    = 8 // interrupted calls that it allows in addition

	maxStreams    = 4         // concurrent model calls
	maxRequest    = 128 << 20 // maximum size of the messages in a request, in bytes; no provider accepts that much
	bytesPerToken = 4         // estimate for text
)

// meter counts model calls and their cost.
type meter struct {
	budget Budget
	turn   chan struct{} // holds one token while a call runs, if calls must run one at a time

	mu        sync.Mutex
	running   int // running calls
	answered  int
	broken    int
	estimated float64 // estimated cost in US dollars of the calls without reported usage
	spent     map[string]event.ModelUsage
}

func newMeter(b Budget) *meter {
	return &meter{budget: b, turn: make(chan struct{}, 1), spent: map[string]event.ModelUsage{}}
}

// overBudgetError returns the error for a request that is not sent because of a limit.
func overBudgetError(format string, args ...any) error {
	return &model.Error{Kind: model.ErrorInvalid, Provider: "host", Message: fmt.Sprintf(format, args...), Err: ErrRefused}
}

// checkRequest refuses a request that exceeds the run's settings.
func (m *meter) checkRequest(r *wireRequest) error {
	if r.MaxTokens != m.budget.MaxTokens {
		return overBudgetError("the request has max tokens %d, the run allows %d", r.MaxTokens, m.budget.MaxTokens)
	}
	if r.Effort != "" && r.Effort != m.budget.Effort {
		return overBudgetError("the request has effort %q, the run has %q", r.Effort, m.budget.Effort)
	}
	return nil
}

// begin reserves a call, or refuses it if too many calls are running. The caller calls end.
func (m *meter) begin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running >= maxStreams {
		return overBudgetError("%d calls are already running", m.running)
	}
	m.running++
	return nil
}

func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running--
}

// checkBudget refuses a call when the budget is spent.
func (m *meter) checkBudget() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := m.total()
	switch b := m.budget; {
	case b.USD > 0 && total >= b.USD:
		return overBudgetError("the run's budget of $%g is spent ($%.4f used)", b.USD, total)
	case b.Calls > 0 && m.answered >= allowedPerCall*b.Calls:
		return overBudgetError("the turn's model calls are used up: %d, with a limit of %d", m.answered, b.Calls)
	case b.Calls > 0 && m.broken >= brokenPerCall*b.Calls+extraBroken:
		return overBudgetError("%d model calls of the turn were interrupted", m.broken)
	}
	return nil
}

// total returns the cost of the run. The caller holds mu.
func (m *meter) total() float64 {
	total := m.estimated + m.budget.Spent
	for _, u := range m.spent {
		total += u.CostUSD
	}
	return total
}

// countAnswer counts a completed call.
func (m *meter) countAnswer(info model.Info, a *model.Answer, sent, got int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answered++
	use := m.spent[info.Model]
	use.Calls++
	if u := a.Item.Usage; u != nil {
		use.Usage, use.CostUSD = use.Usage.Add(*u), use.CostUSD+info.Cost(*u, a.Cost)
	} else {
		m.estimated += estimateCost(info, sent, got)
	}
	m.spent[info.Model] = use
}

// countBroken counts a call that ended without an answer.
func (m *meter) countBroken(info model.Info, sent, got int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if got == 0 {
		sent = 0 // rejected or never sent
	}
	m.broken++
	m.estimated += estimateCost(info, sent, got)
}

func estimateCost(info model.Info, sent, got int) float64 {
	return info.Price.Cost(transcript.Usage{Input: int64(sent / bytesPerToken), Output: int64(got / bytesPerToken)})
}

// SpentUSD returns the cost of the run in US dollars, including estimates for calls without
// reported usage.
func (s *Server) SpentUSD() float64 {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	return s.meter.total()
}

// Spent returns the usage and cost so far, by model name, as the host has counted them. It does not
// include estimates.
func (s *Server) Spent() map[string]event.ModelUsage {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	return maps.Clone(s.meter.spent)
}
