package agent

// leave notes that somebody who works for the agent was left with a question: the run ends
// with err, as with a question of its own. What it returns is closed when the agent runs
// again.
func (a *Agent) leave(err error) <-chan struct{} {
	a.mu.Lock()
	if a.left == nil {
		a.left, a.again = err, make(chan struct{})
		a.news()
	}
	again := a.again
	a.mu.Unlock()
	select {
	case a.bell <- struct{}{}:
	default:
	}
	return again
}

// leftBy is why the run ends, or nil.
func (a *Agent) leftBy() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.left
}

// runsAgain has those ask again who were left with questions.
func (a *Agent) runsAgain() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left != nil {
		a.left = nil
		close(a.again)
	}
}

// goesOn reports whether the agent was left, to be gone on with later.
func (a *Agent) goesOn() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leaving
}
