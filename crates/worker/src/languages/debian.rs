//! Debian's packages of tools whose version is part of their name.

/// The package of a tool: `python3.12`, `g++-12`, `clang-16` for `clang++-16`. `None` if its name does not say.
pub(crate) fn package_of(program: &str) -> Option<String> {
    let (name, version) = match program.rsplit_once('-') {
        Some((name, version)) if is_version(version) => (name, Some(version)),
        _ => (program, None),
    };
    let package = match name {
        "g++" | "gcc" | "cmake" | "make" => name,
        "clang++" | "clang" => "clang",
        _ => {
            return program
                .strip_prefix("python")
                .filter(|rest| is_version(rest))
                .map(|_| program.to_owned());
        }
    };
    Some(version.map_or_else(|| package.to_owned(), |version| format!("{package}-{version}")))
}

fn is_version(text: &str) -> bool {
    text.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_named_as_debian_names_it_and_never_guessed() {
        for (program, package) in [
            ("python3.12", Some("python3.12")),
            ("python3", Some("python3")),
            ("g++", Some("g++")),
            ("g++-12", Some("g++-12")),
            ("gcc-9", Some("gcc-9")),
            ("clang++-16", Some("clang-16")),
            ("cmake", Some("cmake")),
            ("python-config", None),
            ("my-compiler", None),
        ] {
            assert_eq!(package_of(program).as_deref(), package, "{program}");
        }
    }
}
