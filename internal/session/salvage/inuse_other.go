//go:build !unix

package salvage

// inUse leaves the check to the system, which does not rename an open file.
func inUse(string) (bool, error) { return false, nil }
