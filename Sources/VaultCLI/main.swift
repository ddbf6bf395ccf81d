import CVaultSystem
import Glibc
import VaultCommands

// A static glibc dies when it loads the plugins that the machine's nsswitch.conf names; files need none.
_ = unsafe csystem_lookup_in("passwd", "files")
_ = unsafe csystem_lookup_in("group", "files")

StandardDescriptors.open()
exit(runProcess())
