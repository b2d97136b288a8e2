package sandbox

import "runtime"

// hasKernelSandbox says whether this build can hold commands by the kernel.
const hasKernelSandbox = runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64")

// Check says whether this build can do what the settings ask for. A setting that
// would have no effect is a *[Error]: a person who wrote it relies on it.
func (s *Settings) Check() error {
	if s.Ripgrep != nil {
		return &Error{
			Field: "ripgrep", Detail: "it would have no effect: searching is built in, and starts no program",
			hint: "take it out",
		}
	}
	if hasKernelSandbox {
		return nil
	}
	for _, f := range s.kernel() {
		if f.set {
			return &Error{
				Field: f.name, Detail: "this needs the kernel sandbox, which " + runtime.GOOS + "/" + runtime.GOARCH + " does not have",
				hint: "take it out",
			}
		}
	}
	return nil
}

type field struct {
	name string
	set  bool
}

// kernel lists the fields that only a kernel can enforce. One that says false
// asks for nothing.
func (s *Settings) kernel() []field {
	out := []field{
		{"allowNestedSandbox", isTrue(s.AllowNestedSandbox)},
		{"autoAllowBashIfSandboxed", isTrue(s.AutoAllowBashIfSandboxed)},
		{"allowUnsandboxedCommands", isTrue(s.AllowUnsandboxedCommands)},
		{"enableWeakerNestedSandbox", isTrue(s.EnableWeakerNestedSandbox)},
		{"ignoreViolations", s.IgnoreViolations != nil},
		{"additionalWritePaths", len(s.AdditionalWritePaths) > 0},
		{fieldReadMore, len(s.AdditionalReadPaths) > 0},
		{"strictProtectedPaths", isTrue(s.StrictProtectedPaths)},
		{"excludedCommands", len(s.ExcludedCommands) > 0},
		{"limits", s.Limits != nil && *s.Limits != Limits{}},
	}
	if n := s.Network; n != nil {
		out = append(out, []field{
			{"network.allowManagedDomainsOnly", n.AllowManagedDomainsOnly},
			{fieldUnixSockets, n.AllowUnixSockets},
			{"network.allowAllUnixSockets", n.AllowAllUnixSockets},
			{"network.httpProxyPort", n.HTTPProxyPort != nil},
			{"network.socksProxyPort", n.SOCKSProxyPort != nil},
			{"network.ask", isTrue(n.Ask)},
		}...)
	}
	return out
}

func isTrue(b *bool) bool { return b != nil && *b }
