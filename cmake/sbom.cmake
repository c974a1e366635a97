# A bill of materials (SPDX 2.3): what is linked into what is built, with versions and licences.
include_guard()

# redtune_sbom(<file> <package> [<part> <version> <licence> <address> STATIC_LINK|DYNAMIC_LINK]...)
function(redtune_sbom file package)
    string(TIMESTAMP created "%Y-%m-%dT%H:%M:%SZ" UTC) # of SOURCE_DATE_EPOCH, where it is set
    set(packages "")
    set(relations "")
    set(parts ${ARGN})
    while(parts)
        list(POP_FRONT parts name part_version licence address link)
        string(APPEND packages ",
    {
      \"SPDXID\": \"SPDXRef-${name}\",
      \"name\": \"${name}\",
      \"versionInfo\": \"${part_version}\",
      \"downloadLocation\": \"${address}\",
      \"filesAnalyzed\": false,
      \"licenseConcluded\": \"${licence}\",
      \"licenseDeclared\": \"${licence}\",
      \"copyrightText\": \"NOASSERTION\"
    }")
        string(APPEND relations ",
    {
      \"spdxElementId\": \"SPDXRef-${package}\",
      \"relationshipType\": \"${link}\",
      \"relatedSpdxElement\": \"SPDXRef-${name}\"
    }")
    endwhile()
    string(SHA256 unique "${package} ${version} ${created} ${packages} ${relations}")
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "{
  \"spdxVersion\": \"SPDX-2.3\",
  \"dataLicense\": \"CC0-1.0\",
  \"SPDXID\": \"SPDXRef-DOCUMENT\",
  \"name\": \"@package@-@version@\",
  \"documentNamespace\": \"https://spdx.org/spdxdocs/@package@-@version@-@unique@\",
  \"creationInfo\": {
    \"created\": \"@created@\",
    \"creators\": [\"Organization: The redtune authors\"]
  },
  \"packages\": [
    {
      \"SPDXID\": \"SPDXRef-@package@\",
      \"name\": \"@package@\",
      \"versionInfo\": \"@version@\",
      \"downloadLocation\": \"NOASSERTION\",
      \"filesAnalyzed\": false,
      \"licenseConcluded\": \"MIT\",
      \"licenseDeclared\": \"MIT\",
      \"copyrightText\": \"2026 The redtune authors\"
    }@packages@
  ],
  \"relationships\": [
    {
      \"spdxElementId\": \"SPDXRef-DOCUMENT\",
      \"relationshipType\": \"DESCRIBES\",
      \"relatedSpdxElement\": \"SPDXRef-@package@\"
    }@relations@
  ]
}
")
endfunction()
