//! Lists of hosts that have a name of their own.
//!
//! The hosts of a preset also take uploads: a command with credentials can publish what it has read.

/// A name that stands for hosts, their ports, and for each purpose its hosts.
pub(crate) struct Preset {
    pub(crate) name: &'static str,
    pub(crate) ports: &'static [u16],
    pub(crate) hosts: &'static [(&'static str, &'static str)],
}

pub(crate) const PRESETS: &[Preset] = &[
    Preset {
        name: "@registries",
        ports: &[80, 443],
        hosts: &[
            ("cargo, rustup", "crates.io index.crates.io static.crates.io static.rust-lang.org"),
            ("pip", "pypi.org files.pythonhosted.org"),
            // Native modules are built with headers from nodejs.org.
            ("npm, yarn", "registry.npmjs.org registry.yarnpkg.com npm.jsr.io jsr.io nodejs.org"),
            ("apt of Debian", "deb.debian.org security.debian.org"),
            ("apt of Ubuntu", "archive.ubuntu.com *.archive.ubuntu.com security.ubuntu.com ports.ubuntu.com"),
            ("go", "proxy.golang.org sum.golang.org"),
            ("gem", "rubygems.org index.rubygems.org"),
            ("maven", "repo.maven.apache.org repo1.maven.org"),
            ("gradle", "plugins.gradle.org plugins-artifacts.gradle.org services.gradle.org downloads.gradle.org"),
            ("dotnet, composer, mix", "api.nuget.org repo.packagist.org packagist.org repo.hex.pm"),
        ],
    },
    Preset {
        name: "@forges",
        ports: &[22, 80, 443],
        // Releases, raw files and large files come from hosts of their own.
        hosts: &[
            ("GitHub", "github.com *.github.com *.githubusercontent.com github-cloud.s3.amazonaws.com"),
            ("GitLab", "gitlab.com *.gitlab.com cdn.artifacts.gitlab-static.net"),
            ("Codeberg", "codeberg.org *.codeberg.org"),
            ("Bitbucket", "bitbucket.org *.bitbucket.org bbuseruploads.s3.amazonaws.com"),
        ],
    },
];
