package instructions

// Bounds that the external tests check.
const (
	MaxDepth = maxDepth
	MaxFile  = maxFile
	MaxFiles = maxFiles
	MaxTotal = maxTotal
)
