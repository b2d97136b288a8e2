package cli

// quick answers what needs no command line model: a version must not cost more
// than starting the process does. It reports whether it has answered.
func (p *Program) quick() (bool, error) {
	switch {
	case len(p.Args) == 1 && (p.Args[0] == "version" || p.Args[0] == "--version"):
		return true, (&versionCmd{}).print(p)
	case len(p.Args) == 2 && p.Args[0] == "version" && p.Args[1] == "--json":
		return true, (&versionCmd{jsonFlag{JSON: true}}).print(p)
	}
	return false, nil
}
