import CVaultProcess
import CVaultStart
import CVaultSystem
import Glibc
import VaultCommands

cstart_restore_environment()
csystem_find_users_in_files()
cprocess_guard_output()
exit(runProcess())
