package sandbox

// Check says whether this build can do what the settings ask for. A setting that
// would have no effect is a *[SettingsError]: a person who wrote it relies on it.
func (s *Settings) Check() error {
	for _, f := range s.kernel() {
		if f.set {
			return &SettingsError{
				Field: f.name,
				What:  "this needs the kernel sandbox, which this build does not have yet",
				hint:  "take it out",
			}
		}
	}
	return nil
}

type field struct {
	name string
	set  bool
}

// kernel lists the fields that only a kernel can enforce.
func (s *Settings) kernel() []field {
	out := []field{
		{"allowNestedSandbox", s.AllowNestedSandbox},
		{"autoAllowBashIfSandboxed", s.AutoAllowBashIfSandboxed},
		{"allowUnsandboxedCommands", s.AllowUnsandboxedCommands},
		{"enableWeakerNestedSandbox", s.EnableWeakerNestedSandbox},
		{"ignoreViolations", s.IgnoreViolations != nil},
		{"ripgrep", s.Ripgrep != nil},
	}
	if n := s.Network; n != nil {
		out = append(out, []field{
			{"network.allowManagedDomainsOnly", n.AllowManagedDomainsOnly},
			{"network.allowUnixSockets", n.AllowUnixSockets},
			{"network.allowAllUnixSockets", n.AllowAllUnixSockets},
			{"network.httpProxyPort", n.HTTPProxyPort != nil},
			{"network.socksProxyPort", n.SOCKSProxyPort != nil},
		}...)
	}
	return out
}
