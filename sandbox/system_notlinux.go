//go:build !linux

package sandbox

// folderState knows nothing here: no command is held.
type folderState struct{}

func stateOf(string) folderState { return folderState{} }

func (*folderState) same(*folderState) bool { return false }

func searchable(string) bool { return true }
