package approval

// Bounds that the external tests check.
const (
	MaxMessage = maxMessage
	MaxShown   = maxShown
)
