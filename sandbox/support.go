package sandbox

import "runtime"

// hasKernelSandbox reports whether this build has a kernel sandbox.
const hasKernelSandbox = runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64")

// Check reports whether this build can enforce the settings. A setting that would have no effect is an
// *[Error], because its author relies on it.
func (s *Settings) Check() error {
	if s.Ripgrep != nil {
		return &Error{
			Field: "ripgrep", Detail: "it would have no effect: search is built in and starts no program",
			hint: "remove it",
		}
	}
	if hasKernelSandbox {
		return nil
	}
	for _, f := range s.kernelFields() {
		if f.set {
			return &Error{
				Field: f.name, Detail: "this needs the kernel sandbox, which " + runtime.GOOS + "/" + runtime.GOARCH + " does not have",
				hint: "remove it",
			}
		}
	}
	return nil
}

type field struct {
	name string
	set  bool
}

// kernelFields returns the fields that only a kernel can enforce. A field that is false needs nothing.
func (s *Settings) kernelFields() []field {
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
