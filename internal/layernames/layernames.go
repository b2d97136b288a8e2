// Package layernames names the layers of settings, as settings, rules and the places where
// they were written say them.
package layernames

// The layers, the strongest first.
const (
	Managed = "managed"
	Flag    = "flag"
	Local   = "local"
	Project = "project"
	User    = "user"
	Session = "session"
)
