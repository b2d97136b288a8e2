package agent

// suspendFor notes that somebody who works for the agent was left with a question: the run ends
// with err, as with a question of its own. What it returns is closed when the agent runs
// again.
func (a *Agent) suspendFor(err error) <-chan struct{} {
	a.mu.Lock()
	if a.suspendedErr == nil {
		a.suspendedErr, a.toResume = err, make(chan struct{})
		a.notifyWaiters()
	}
	again := a.toResume
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
	return again
}

// suspendedBy is why the run ends, or nil.
func (a *Agent) suspendedBy() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.suspendedErr
}

// resumeSuspended has those ask again who were left with questions.
func (a *Agent) resumeSuspended() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.suspendedErr != nil {
		a.suspendedErr = nil
		close(a.toResume)
	}
}

// isSuspended reports whether the agent was left, to be gone on with later.
func (a *Agent) isSuspended() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.suspending
}
