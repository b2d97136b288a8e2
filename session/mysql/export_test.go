package mysql

// WithoutProcedure makes s as it is where the server lets nobody make procedures.
func (s *Store) WithoutProcedure() {
	if s.appendCall != nil {
		s.appendCall.Close()
		s.appendCall = nil
	}
}

// HasProcedure reports whether s appends with the procedure.
func (s *Store) HasProcedure() bool { return s.appendCall != nil }

// CheckDurable and CheckVersion are what each connection is looked at for.
var (
	CheckDurable = checkDurable
	CheckVersion = checkVersion
)

// Settings are what each connection is set to.
const Settings = settings

// The statements of a tail and the version of the tables.
const (
	RecordsDown   = recordsDown
	FormatVersion = formatVersion
)
