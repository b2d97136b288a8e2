package agent

// The errors that the external tests check.
var (
	ErrNoTask    = errNoTask
	ErrNameTaken = errNameTaken
)
