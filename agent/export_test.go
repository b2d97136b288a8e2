package agent

// Errors for the external tests.
var (
	ErrNoTask    = errNoTask
	ErrNameTaken = errNameTaken
)
