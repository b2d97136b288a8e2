package agent

// suspendFor notes that an approval request of a sub-agent was suspended. The run ends with err, as
// for an approval request of the agent itself. The returned channel is closed when the agent runs
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

// suspendedBy returns the error of a sub-agent that is suspended, or nil.
func (a *Agent) suspendedBy() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.suspendedErr
}

// resumeSuspended lets suspended sub-agents request approval again.
func (a *Agent) resumeSuspended() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.suspendedErr != nil {
		a.suspendedErr = nil
		close(a.toResume)
	}
}

// isSuspended reports whether the agent was closed by Suspend.
func (a *Agent) isSuspended() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.suspending
}
