// Package layernames contains the names of the settings layers, as used in settings, rules and origins.
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
