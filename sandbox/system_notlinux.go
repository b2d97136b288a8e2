//go:build !linux

package sandbox

// folderState does nothing here: commands are not confined.
type folderState struct{}

func stateOf(string) folderState { return folderState{} }

func (*folderState) same(*folderState) bool { return false }

func searchable(string) bool { return true }
